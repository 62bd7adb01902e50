// A scripted MCP server without sessions.
#pragma once

#include <gtest/gtest.h>

#include "catalog_fixture.h"
#include "request_script.h"
#include "tools/mcp/source.h"

namespace agent_graph::tools {

using testing::Connection;

inline constexpr char kRevision[] = "2026-07-28";

inline json Discovered(bool announces = false) {
  return {{"resultType", "complete"},
          {"supportedVersions", {kRevision}},
          {"capabilities", {{"tools", {{"listChanged", announces}}}}},
          {"ttlMs", 0},
          {"cacheScope", "private"}};
}

inline json Listed(const json& tools, int64_t ttl = 0) {
  return {{"resultType", "complete"}, {"tools", tools}, {"ttlMs", ttl}, {"cacheScope", "private"}};
}

inline json Echo(const json& schema = {{"type", "object"}}) {
  return {{"name", "echo"}, {"inputSchema", schema}};
}

// A stateless server with the tool "echo"; all other requests go to `other`.
inline RequestScript::Answer Stateless(RequestScript::Answer other) {
  return [other = std::move(other)](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "server/discover") {
      return RequestScript::Reply(connection, request, Discovered());
    }
    if (request.method == "tools/list") {
      return RequestScript::Reply(connection, request, Listed(json::array({Echo()})));
    }
    return other(connection, request);
  };
}

inline bool Done(Connection& connection, const ScriptedRequest& request) {
  json result = RequestScript::Text("done");
  result["resultType"] = "complete";
  return RequestScript::Reply(connection, request, result);
}

}  // namespace agent_graph::tools
