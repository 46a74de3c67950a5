-- Sends requests that are written in a file, separated by NUL; the results in one line of JSON.

local requests, varies, count = {}, {}, 0

function init()
  local file = io.open(os.getenv("BENCH_REQUESTS"), "rb")
  for request in file:read("*a"):gmatch("%Z+") do
    requests[#requests + 1] = request
    varies[#varies + 1] = request:find("{%a+}") ~= nil
  end
  file:close()
end

function request()
  count = count + 1
  local index = count % #requests + 1
  if not varies[index] then return requests[index] end
  return (requests[index]:gsub("{word}", 10000 + count % 10000):gsub("{key}", count))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
