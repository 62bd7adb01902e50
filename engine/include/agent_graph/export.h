// Symbol visibility of the SDK. Everything a graph may call is marked AGENT_GRAPH_API; the rest of
// the module is hidden.
#pragma once

#define AGENT_GRAPH_API __attribute__((visibility("default")))
