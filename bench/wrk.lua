-- Requests with tokens that take turns; the results in one line of JSON.

local method, body, keys = os.getenv("BENCH_METHOD"), os.getenv("BENCH_BODY"), os.getenv("BENCH_KEYS")
local varies = false
local headers, requests, count = {}, {}, 0

function init(tokens)
  varies = wrk.path:find("{n}", 1, true)
  for _, token in ipairs(tokens) do
    local own = { ["Authorization"] = "Bearer " .. token }
    if body then own["Content-Type"] = "application/json" end
    headers[#headers + 1] = own
    requests[#requests + 1] = wrk.format(method, nil, own, body)
  end
end

function request()
  count = count + 1
  local index = count % #requests + 1
  if varies then return wrk.format(method, wrk.path:gsub("{n}", 10000 + count % 10000), headers[index], body) end
  if not keys then return requests[index] end
  headers[index]["Idempotency-Key"] = keys .. "-" .. count
  return wrk.format(method, nil, headers[index], body)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
