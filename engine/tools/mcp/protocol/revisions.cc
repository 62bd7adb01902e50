#include "tools/mcp/protocol/revisions.h"

#include <algorithm>

#include "base/version.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::string_view kSessionRevisions[] = {kSessionRevision, "2025-06-18", "2025-03-26",
                                                  "2024-11-05"};

bool IsSessionRevision(const json& text) {
  return text.is_string() && std::any_of(std::begin(kSessionRevisions), std::end(kSessionRevisions),
                                         [&](std::string_view known) { return text == known; });
}

json ClientInfo() {
  return {{"name", "agent-graph"}, {"version", kVersion}};
}

bool AnnouncesChanges(const json& result) {
  const json::json_pointer changes("/capabilities/tools/listChanged");
  return result.contains(changes) && result.at(changes) == true;
}

}  // namespace

std::optional<Eras> ErasOf(std::string_view setting) {
  if (setting == "auto") return Eras{};
  if (setting == kStatelessRevision) return Eras{.session = false};
  if (setting == kSessionRevision) return Eras{.stateless = false};
  return std::nullopt;
}

json InitializeParams(const json& capabilities) {
  return {{"protocolVersion", kSessionRevision},
          {"capabilities", capabilities},
          {"clientInfo", ClientInfo()}};
}

void AddRequestMeta(json& params, const json& capabilities) {
  json& meta = params["_meta"];
  meta["io.modelcontextprotocol/protocolVersion"] = kStatelessRevision;
  meta["io.modelcontextprotocol/clientInfo"] = ClientInfo();
  meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
}

Result<ServerFacts> ReadInitializeResult(const json& result) {
  const auto spoken = result.find("protocolVersion");
  if (spoken == result.end() || !spoken->is_string()) {
    return Unavailable("the reply to \"initialize\" has no protocol version");
  }
  if (!IsSessionRevision(*spoken)) {
    return Unavailable("the server speaks another version of the protocol");
  }
  return ServerFacts{Era::kSession, spoken->get<std::string>(), AnnouncesChanges(result)};
}

json SupportedRevisions(const RpcError& error) {
  return error.data.is_object() ? error.data.value("supported", json()) : json();
}

std::optional<Era> ChooseEra(const json& supported) {
  if (!supported.is_array()) return std::nullopt;
  if (std::find(supported.begin(), supported.end(), kStatelessRevision) != supported.end()) {
    return Era::kStateless;
  }
  if (std::any_of(supported.begin(), supported.end(), IsSessionRevision)) return Era::kSession;
  return std::nullopt;
}

Result<ServerFacts> ReadDiscoverResult(const json& result) {
  const auto supported = result.find("supportedVersions");
  if (supported == result.end() || !supported->is_array()) {
    return Unavailable("the reply to \"server/discover\" has no protocol versions");
  }
  const std::optional<Era> era = ChooseEra(*supported);
  if (!era) return Unavailable("the server speaks another version of the protocol");
  return ServerFacts{*era, kStatelessRevision, AnnouncesChanges(result)};
}

}  // namespace agent_graph::tools::mcp
