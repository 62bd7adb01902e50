// The protocol's revisions, and how client and server agree on one.
//
// There are two eras. Up to 2025-11-25 a session starts with "initialize", which selects the
// revision. From 2026-07-28 on there are no sessions: every request states its revision and the
// client's capabilities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/json.h"
#include "base/status.h"
#include "tools/mcp/protocol/json_rpc.h"

namespace agent_graph::tools::mcp {

inline constexpr char kStatelessRevision[] = "2026-07-28";  // the only one of its era
inline constexpr char kSessionRevision[] = "2025-11-25";    // the newest one of its era

inline constexpr char kDiscover[] = "server/discover";
inline constexpr char kInitialize[] = "initialize";
inline constexpr char kInitialized[] = "notifications/initialized";
inline constexpr char kListen[] = "subscriptions/listen";

enum class Era : uint8_t { kSession, kStateless };

// The eras to try: both, or the only one that the graph allows.
struct Eras {
  bool session = true;
  bool stateless = true;
};
// Reads the setting "protocol": "auto" or a revision; returns nullopt for other texts.
std::optional<Eras> ErasOf(std::string_view setting);

// The server's description from the handshake.
struct ServerFacts {
  Era era = Era::kSession;
  std::string revision;
  bool announces_changes = false;  // it announces changes of its tools
};

// Returns the params of "initialize"; `capabilities` are the client's.
json InitializeParams(const json& capabilities);
// Adds the members to `params` that every request has in the stateless era.
void AddRequestMeta(json& params, const json& capabilities = json::object());

// Returns kUnavailable if the server supports none of our revisions.
Result<ServerFacts> ReadInitializeResult(const json& result);
// Returns the supported revisions from an error with code kUnsupportedRevision.
json SupportedRevisions(const RpcError& error);
// Returns the era for `supported`, a server's list of revisions; nullopt if it is not a list or has
// none of ours.
std::optional<Era> ChooseEra(const json& supported);
// Reads the result of server/discover; kUnavailable if it is invalid. Era kSession: the server
// lists only revisions that need "initialize".
Result<ServerFacts> ReadDiscoverResult(const json& result);

}  // namespace agent_graph::tools::mcp
