-- What wrk sends, and one line of JSON at the end.
--   wrk … -s requests.lua URL -- get TOKEN PATH
--                             -- accept TOKEN PREFIX    a new target and key each time
--                             -- mcp TOKEN OPERATION    tools/call of get_operation
local make

local function fixed(method, path, headers, body)
	local text = wrk.format(method, path, headers, body)

	return function()
		return text
	end
end

local function accept(headers, prefix)
	local n = 0

	return function()
		n = n + 1
		headers["Idempotency-Key"] = prefix .. n
		return wrk.format("POST", "/api/v1/clusters:import", headers,
			'{"eks_name":"' .. prefix .. n .. '"}')
	end
end

function init(args)
	local headers = {Authorization = "Bearer " .. args[2]}

	if args[1] == "get" then
		make = fixed("GET", args[3], headers)
		return
	end
	headers["Content-Type"] = "application/json"
	if args[1] == "accept" then
		make = accept(headers, args[3])
		return
	end
	headers["Accept"] = "application/json, text/event-stream"
	headers["MCP-Protocol-Version"] = "2026-07-28"
	headers["Mcp-Method"] = "tools/call"
	headers["Mcp-Name"] = "get_operation"
	make = fixed("POST", "/mcp", headers, '{"jsonrpc":"2.0","id":1,"method":"tools/call",'
		.. '"params":{"name":"get_operation","arguments":{"id":"' .. args[3] .. '"},'
		.. '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
		.. '"io.modelcontextprotocol/clientCapabilities":{}}}}')
end

function request()
	return make()
end

function done(summary, latency)
	local e = summary.errors

	io.write(string.format('\n{"requests":%d,"us":%d,"errors":%d,"p50_ms":%.3f,"p99_ms":%.3f}\n',
		summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
		latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
