#include "cli/templates.h"

namespace agent_graph::cli {
namespace {

constexpr std::string_view kServiceOfJson = R"TEXT({
  "agent": "agent.json:app",
  "models": {
    "default": {"provider": "demo", "parameters": {"dialog": true, "delay_ms": 40}}
  },
  "checkpointer": "leveldb",
  "store": "leveldb",
  "websocket": {"bearer_protocols": ["agentflow-bearer", "10xgraph-bearer"]}
}
)TEXT";

constexpr std::string_view kServiceOfCpp = R"TEXT({
  "agent": "agent.so:app",
  "models": {
    "default": {"provider": "demo", "parameters": {"dialog": true, "delay_ms": 40}}
  },
  "checkpointer": "leveldb",
  "store": "leveldb",
  "websocket": {"bearer_protocols": ["agentflow-bearer", "10xgraph-bearer"]}
}
)TEXT";

constexpr std::string_view kGraphJson = R"TEXT({
  "app": {
    "nodes": [
      {
        "name": "MAIN",
        "type": "agent",
        "system_prompt": "You are a helpful assistant. Answer briefly.",
        "tool_node": "TOOLS"
      },
      {"name": "TOOLS", "type": "tools", "tools": ["current_time", "calculator"]}
    ],
    "edges": [
      {"from": "START", "to": "MAIN"},
      {"from": "MAIN", "when": [{"tool_calls_pending": true, "to": "TOOLS"}], "otherwise": "END"},
      {"from": "TOOLS", "to": "MAIN"}
    ]
  }
}
)TEXT";

constexpr std::string_view kGraphCpp = R"TEXT(// An agent with a tool of its own.
#include <agent_graph/agent_graph.h>
#include <agent_graph/json.h>

using namespace agent_graph;

static ToolOutput ShippingCost(const json& arguments, ToolContext&) {
  const double kilograms = arguments.at("kilograms").get<double>();
  if (kilograms > 30) return ToolOutput::Error("parcels have at most 30 kg");
  return json{{"euro", kilograms <= 2 ? 4 : 9}};
}

static void Build(GraphBuilder& graph) {
  Tool shipping_cost{.name = "shipping_cost",
                     .description = "Price of a parcel.",
                     .parameters_json = R"({"type":"object",
                                            "properties":{"kilograms":{"type":"number"}},
                                            "required":["kilograms"]})",
                     .function = ShippingCost,
                     .idempotent = true};
  graph.AddAgent("MAIN", {.system_prompt = "You help customers of a shop.", .tool_node = "TOOLS"});
  graph.AddToolNode("TOOLS", {shipping_cost, BuiltinTool("calculator")});
  graph.AddEdge(START, "MAIN");
  graph.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  graph.AddEdge("TOOLS", "MAIN");
}

AGENT_GRAPH_EXPORT(app, Build)
)TEXT";

// Relative paths of directives start at run/, the prefix that `agent-graph run` passes to nginx;
// that of service.json starts at this file.
constexpr std::string_view kNginxConf =
    R"TEXT(# Serves this agent: `agent-graph run`. Other paths than that of service.json start at run/.
load_module modules/ngx_http_agent_graph_module.so;

worker_processes 2;
worker_shutdown_timeout 10m;

pid logs/nginx.pid;
error_log stderr notice;

events {
    worker_connections 1024;
}

http {
    access_log logs/access.log;
    client_body_temp_path temp/body;
    proxy_temp_path temp/proxy;
    fastcgi_temp_path temp/fastcgi;
    scgi_temp_path temp/scgi;
    uwsgi_temp_path temp/uwsgi;

    client_max_body_size 26m;
    client_body_buffer_size 64k;
    large_client_header_buffers 4 20k;

    agent_graph_service agent service.json state=state;

    server {
        listen 127.0.0.1:8000;

        location / {
            agent_graph agent;
        }
    }
}
)TEXT";

constexpr std::string_view kReadmeOfJson = R"TEXT(# My agent

| file | what it is |
|---|---|
| `agent.json` | the graph: a model with two tools |
| `service.json` | the service: which graph, which model, what is stored |
| `nginx.conf` | the web server |
| `run/` | state, uploads and logs, made by `agent-graph run` |

```sh
agent-graph check .     # after each change
agent-graph run         # serves http://127.0.0.1:8000
agent-graph chat        # in another terminal; try: What time is it in Tokyo?
agent-graph draw .      # the graph
```

**A real model.** Replace `default` in `service.json` and set the key in the environment of `agent-graph run`:

```json
"default": {"provider": "openai", "model": "gpt-4o-mini"}
```

Other providers, and local models: docs/providers.md of Agent Graph for nginx. Graphs and tools: docs/sdk.md.
)TEXT";

constexpr std::string_view kReadmeOfCpp = R"TEXT(# My agent

| file | what it is |
|---|---|
| `agent.cc` | the graph: a model with a tool of its own |
| `service.json` | the service: which graph, which model, what is stored |
| `nginx.conf` | the web server |
| `run/` | state, uploads and logs, made by `agent-graph run` |

```sh
g++ -std=c++20 -O2 -fPIC -shared agent.cc -o agent.so
agent-graph check .     # after each change
agent-graph run         # serves http://127.0.0.1:8000
agent-graph chat        # in another terminal; try: call shipping_cost {"kilograms": 1.5}
agent-graph draw .      # the graph
```

The compiler needs the headers `agent_graph/…`. From a checkout that is built they are in
`build/release/sdk/include`: add `-I` with this path.

**A real model.** Replace `default` in `service.json` and set the key in the environment of `agent-graph run`:

```json
"default": {"provider": "openai", "model": "gpt-4o-mini"}
```

Other providers, and local models: docs/providers.md of Agent Graph for nginx. Graphs and tools: docs/sdk.md.
)TEXT";

}  // namespace

std::vector<TemplateFile> AgentTemplate(bool cpp) {
  return {{.name = "service.json", .content = cpp ? kServiceOfCpp : kServiceOfJson},
          {.name = cpp ? "agent.cc" : "agent.json", .content = cpp ? kGraphCpp : kGraphJson},
          {.name = "nginx.conf", .content = kNginxConf},
          {.name = "README.md", .content = cpp ? kReadmeOfCpp : kReadmeOfJson},
          {.name = ".gitignore", .content = "run/\n.nginx.port.conf\n*.so\n"}};
}

}  // namespace agent_graph::cli
