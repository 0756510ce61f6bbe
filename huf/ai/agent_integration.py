"""Public entry points for running an agent: `run_agent_sync` by REST, `run_agent` and `stream_agent` from
Python.
"""

from huf.ai.agents.manager import AgentManager
from huf.ai.runs.entry import run_agent, run_agent_sync, stream_agent
from huf.ai.runs.execution import run_child

__all__ = [
	"AgentManager",
	"run_agent",
	"run_agent_sync",
	"run_child",
	"stream_agent",
]
