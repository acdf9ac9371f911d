-- The load of bench/serve.mjs for wrk: posts one body after another, and prints the results as
-- JSON.   wrk ... -s serve.lua URL -- FILE     FILE: one JSON body per line

local requests = {}
local at = 0

function init(args)
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/json"
    for line in io.lines(args[1]) do
        requests[#requests + 1] = wrk.format(nil, "/v1/classify", nil, line)
    end
end

function request()
    at = at % #requests + 1
    return requests[at]
end

function done(summary, latency, _)
    local e = summary.errors
    io.write(string.format(
        '\n{"requests": %d, "seconds": %.6f, "p50_ms": %.3f, "p90_ms": %.3f, "p99_ms": %.3f, '
            .. '"max_ms": %.3f, "status_errors": %d, "socket_errors": %d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
        latency:percentile(90) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3,
        e.status, e.connect + e.read + e.write + e.timeout))
end
