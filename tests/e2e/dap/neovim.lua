-- Debugs a script with nvim-dap: stops at a line, looks at the stack and a value, and runs to the end.
-- Prints one line for each step; `test_dap_neovim.py` reads them.
vim.opt.runtimepath:append(os.getenv("NVIM_DAP"))
local dap = require("dap")
local script, line = os.getenv("SCRIPT"), tonumber(os.getenv("LINE"))

local function say(...)
  io.stdout:write(table.concat({ ... }, " "), "\n")
  io.stdout:flush()
end

-- nvim-dap runs these listeners before it has asked for the threads; until then `dap.continue()` shows a menu.
local function continue(session)
  if session.stopped_thread_id then
    return dap.continue()
  end
  vim.defer_fn(function()
    continue(session)
  end, 10)
end

dap.adapters.graphdbg = { type = "executable", command = os.getenv("GRAPHDBG"), args = { "dap" } }

dap.listeners.after.event_stopped.test = function(session, body)
  say("stopped", body.reason)
  if body.reason == "entry" then
    return continue(session)
  end
  session:request("stackTrace", { threadId = body.threadId }, function(failed, stack)
    local frame = stack.stackFrames[1]
    say("frame", frame.name, tostring(frame.line))
    session:request("evaluate", { expression = "$", frameId = frame.id }, function(refused, value)
      say("value", value.result)
      dap.clear_breakpoints()
      session:request("setBreakpoints", { source = { path = script }, breakpoints = {} }, function()
        continue(session)
      end)
    end)
  end)
end
dap.listeners.after.event_terminated.test = function()
  say("terminated")
  vim.cmd("qall!")
end

vim.cmd("edit " .. script)
vim.api.nvim_win_set_cursor(0, { line, 0 })
dap.set_breakpoint()
dap.run({
  type = "graphdbg",
  request = "launch",
  name = "test",
  program = script,
  python = os.getenv("PYTHON"),
  args = { "2" },
  stopOnEntry = true,
})
