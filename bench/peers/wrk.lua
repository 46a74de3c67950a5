-- Requests with tokens that take turns, from a file of one token a line; the results in one line of JSON.

local method, tokens_file, body = os.getenv("BENCH_METHOD"), os.getenv("BENCH_TOKENS"), os.getenv("BENCH_BODY")
local requests, next_one = {}, 0

function init()
  for token in io.lines(tokens_file) do
    local headers = { ["Authorization"] = "Bearer " .. token }
    if body then headers["Content-Type"] = "application/json" end
    requests[#requests + 1] = wrk.format(method, nil, headers, body)
  end
end

function request()
  next_one = next_one % #requests + 1
  return requests[next_one]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
