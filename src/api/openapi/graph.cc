#include "api/openapi/components.h"

namespace agent_graph::api {

const std::string_view kGraphSchemas = R"json({
  "Interrupt": {
    "type": "object",
    "description": "Why the thread is paused; only while it is",
    "properties": {
      "node": {"type": "string"},
      "reason": {"type": "string"},
      "status": {"enum": ["interrupted_before", "interrupted_after"]},
      "data": {"description": "Defined by the node that asks"}
    },
    "required": ["node", "reason", "status"]
  },
  "ExecutionMeta": {
    "type": "object",
    "properties": {
      "current_node": {"type": "string"},
      "step": {"type": "integer"},
      "is_running": {"type": "boolean"},
      "is_interrupted": {"type": "boolean"},
      "is_stopped_requested": {"type": "boolean"},
      "queued_runs": {
        "type": "array",
        "description": "Ids of the queued runs, in the order in which they will run",
        "items": {"type": "string"}
      },
      "interrupt": {"$ref": "#/components/schemas/Interrupt"}
    },
    "required": ["current_node", "step", "is_running", "is_interrupted", "is_stopped_requested"]
  },
  "AgentState": {
    "type": "object",
    "description": "Further members are the graph's own, see /v1/graph:StateSchema.",
    "properties": {
      "context": {"type": "array", "items": {"$ref": "#/components/schemas/Message"}},
      "context_summary": {"type": ["string", "null"]},
      "execution_meta": {"$ref": "#/components/schemas/ExecutionMeta"}
    },
    "required": ["context", "context_summary", "execution_meta"]
  },
  "RunMeta": {
    "type": "object",
    "properties": {
      "thread_id": {"type": "string"},
      "is_new_thread": {"type": "boolean"},
      "thread_name": {"type": ["string", "null"]},
      "run_id": {"type": "string"},
      "outcome": {"enum": ["done", "interrupted", "stopped"]},
      "interrupt": {"$ref": "#/components/schemas/Interrupt"}
    },
    "required": ["thread_id", "is_new_thread", "outcome"]
  },
  "Invocation": {
    "type": "object",
    "properties": {
      "messages": {"type": "array", "items": {"$ref": "#/components/schemas/Message"}},
      "state": {"anyOf": [{"$ref": "#/components/schemas/AgentState"}, {"type": "null"}]},
      "context": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Message"}},
      "summary": {"type": ["string", "null"]},
      "meta": {"$ref": "#/components/schemas/RunMeta"}
    },
    "required": ["messages", "meta"]
  },
  "StreamChunk": {
    "type": "object",
    "properties": {
      "event": {"enum": ["message", "state", "updates", "error"]},
      "message": {"anyOf": [{"$ref": "#/components/schemas/Message"}, {"type": "null"}]},
      "state": {"anyOf": [{"$ref": "#/components/schemas/AgentState"}, {"type": "null"}]},
      "data": {
        "type": ["object", "null"],
        "description": "`status` is `done` in the last chunk, and `retrying` when a message is void; `reason` describes an error, or is `deleted` with the thread",
        "properties": {
          "status": {"type": "string"},
          "outcome": {
            "enum": ["done", "interrupted", "error", "stopped"],
            "description": "How the run ended; only in the last chunk"
          },
          "interrupt": {"$ref": "#/components/schemas/Interrupt"},
          "reset": {
            "type": ["string", "null"],
            "description": "The message whose pieces are void; null: all that are not complete"
          },
          "attempt": {"type": "integer"},
          "code": {"type": "string"},
          "reason": {"type": "string"}
        }
      },
      "thread_id": {"type": ["string", "null"]},
      "run_id": {"type": ["string", "null"]},
      "metadata": {"type": ["object", "null"]},
      "timestamp": {"type": "number", "description": "Unix seconds"}
    },
    "required": ["event", "timestamp"]
  },
  "GraphInfo": {
    "type": "object",
    "properties": {
      "node_count": {"type": "integer", "description": "With `__start__` and `__end__`"},
      "edge_count": {"type": "integer"},
      "is_realtime": {"type": "boolean"},
      "checkpointer": {"type": "boolean"},
      "checkpointer_type": {"type": ["string", "null"]},
      "publisher": {"type": "boolean"},
      "store": {"type": "boolean"},
      "interrupt_before": {"type": ["array", "null"], "items": {"type": "string"}},
      "interrupt_after": {"type": ["array", "null"], "items": {"type": "string"}},
      "context_type": {"type": ["string", "null"]},
      "id_generator": {"type": "string"},
      "id_type": {"enum": ["string", "integer", "bigint"]},
      "state_type": {"type": "string"},
      "state_fields": {"type": "array", "items": {"type": "string"}}
    },
    "required": ["node_count", "edge_count", "is_realtime", "checkpointer", "checkpointer_type",
                 "publisher", "store", "interrupt_before", "interrupt_after", "context_type",
                 "id_generator", "id_type", "state_type", "state_fields"]
  },
  "GraphDescription": {
    "type": "object",
    "properties": {
      "info": {"$ref": "#/components/schemas/GraphInfo"},
      "nodes": {
        "type": "array",
        "items": {
          "type": "object",
          "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
          "required": ["id", "name"]
        }
      },
      "edges": {
        "type": "array",
        "items": {
          "type": "object",
          "properties": {
            "id": {"type": "string"},
            "source": {"type": "string"},
            "target": {"type": "string"}
          },
          "required": ["id", "source", "target"]
        }
      }
    },
    "required": ["info", "nodes", "edges"]
  },
  "StateSchema": {
    "type": "object",
    "description": "A JSON Schema",
    "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
    "required": ["type", "properties"]
  },
  "Trace": {
    "type": "object",
    "properties": {
      "thread_id": {"type": "string"},
      "run_count": {"type": "integer"},
      "run_ids": {
        "type": "array",
        "items": {"type": "string"},
        "description": "The oldest first"
      },
      "run": {"anyOf": [{"$ref": "#/components/schemas/TracedRun"}, {"type": "null"}]}
    },
    "required": ["thread_id", "run_count", "run_ids", "run"]
  },
  "TracedRun": {
    "type": "object",
    "properties": {
      "run_id": {"type": "string"},
      "thread_id": {"type": "string"},
      "status": {"enum": ["running", "done", "error", "stopped"]},
      "started_at": {"type": ["number", "null"]},
      "finished_at": {"type": ["number", "null"]},
      "duration_ms": {"type": "number"},
      "spans": {
        "type": "array",
        "items": {
          "type": "object",
          "properties": {
            "id": {"type": "string"},
            "name": {"type": "string"},
            "kind": {"enum": ["root", "node", "llm", "tool"]},
            "parent": {"type": ["string", "null"]},
            "start_ms": {"type": "number"},
            "duration_ms": {"type": "number"}
          },
          "required": ["id", "name", "kind", "parent", "start_ms", "duration_ms"]
        }
      },
      "events": {
        "type": "array",
        "description": "The newest first",
        "items": {
          "type": "object",
          "properties": {
            "id": {"type": "string"},
            "type": {"enum": ["message", "updates", "state", "error", "result"]},
            "node": {"type": "string"},
            "offset_ms": {"type": "number"},
            "summary": {"type": "string"}
          },
          "required": ["id", "type", "node", "offset_ms", "summary"]
        }
      },
      "usage": {"type": "object", "additionalProperties": {"type": "integer"}},
      "llm_calls": {"type": "integer"},
      "tool_calls": {"type": "integer"},
      "iterations": {"type": "integer"}
    },
    "required": ["run_id", "thread_id", "status", "duration_ms", "spans", "events", "usage",
                 "llm_calls", "tool_calls", "iterations"]
  },
  "ToolList": {
    "type": "object",
    "properties": {
      "node_count": {"type": "integer", "description": "Tool nodes, not all nodes"},
      "tool_count": {"type": "integer"},
      "nodes": {
        "type": "array",
        "items": {
          "type": "object",
          "properties": {
            "node_name": {"type": "string"},
            "tool_count": {"type": "integer"},
            "tools": {
              "type": "array",
              "items": {
                "type": "object",
                "properties": {
                  "name": {"type": "string"},
                  "description": {"type": "string"},
                  "source": {"enum": ["local", "mcp", "remote"]},
                  "tags": {"type": "array", "items": {"type": "string"}},
                  "parameters": {"type": "object"}
                },
                "required": ["name", "description", "source", "tags", "parameters"]
              }
            }
          },
          "required": ["node_name", "tool_count", "tools"]
        }
      }
    },
    "required": ["node_count", "tool_count", "nodes"]
  },
  "SetupResult": {
    "type": "object",
    "properties": {
      "success": {"type": "boolean"},
      "status": {"type": "string"},
      "message": {"type": "string"},
      "details": {"type": "string"},
      "registered_tools": {"type": "integer"}
    },
    "required": ["success", "message", "registered_tools"]
  },
  "StopResult": {
    "type": "object",
    "properties": {
      "thread_id": {"type": "string"},
      "status": {"const": "stopped"},
      "success": {"type": "boolean"},
      "running": {"type": "boolean", "description": "True if there was a run to stop"},
      "run_id": {"type": ["string", "null"], "description": "The run that was stopped"},
      "message": {"type": "string"},
      "stopped_at": {"type": ["string", "null"]}
    },
    "required": ["thread_id", "status", "success", "running", "message"]
  },
  "FixResult": {
    "type": "object",
    "properties": {
      "success": {"type": "boolean"},
      "message": {"type": "string"},
      "removed_count": {"type": "integer"},
      "state": {"anyOf": [{"$ref": "#/components/schemas/AgentState"}, {"type": "null"}]}
    },
    "required": ["success", "message", "removed_count", "state"]
  }
})json";

}  // namespace agent_graph::api
