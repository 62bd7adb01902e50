#include "facades/mcp/peer.h"

#include <algorithm>
#include <array>

#include "agent_graph/json.h"

namespace agent_graph::mcp {
namespace {

constexpr std::array<std::string_view, 4> kSessionRevisions = {kNewestSessionRevision, "2025-06-18",
                                                               kAssumedRevision, "2024-11-05"};

}  // namespace

bool IsSessionRevision(std::string_view revision) {
  return std::ranges::find(kSessionRevisions, revision) != kSessionRevisions.end();
}

std::string RevisionsJson() {
  std::string out = "[\"" + std::string(kStatelessRevision) + '"';
  for (const std::string_view revision : kSessionRevisions) {
    out += ",\"";
    out += revision;
    out += '"';
  }
  return out + ']';
}

// An empty capability means forms, because the protocol got pages only later.
void ReadCapabilities(const json& capabilities, Peer& peer) {
  const auto found = capabilities.find("elicitation");
  if (found == capabilities.end() || !found->is_object()) return;
  peer.fills_forms = found->empty() || found->contains("form");
  peer.opens_pages = found->contains("url");
}

}  // namespace agent_graph::mcp
