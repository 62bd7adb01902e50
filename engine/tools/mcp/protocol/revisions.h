// The revisions of the protocol, and how a client and a server agree on one.
//
// Two eras: up to 2025-11-25 a session begins with "initialize", which settles the revision. From
// 2026-07-28 on there are no sessions: every request says its revision and what the client can do.
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

// The eras that are tried: both, or the only one that a graph allows.
struct Eras {
  bool session = true;
  bool stateless = true;
};
// Of the setting "protocol": "auto" or a revision; nullopt: neither.
std::optional<Eras> ErasOf(std::string_view setting);

// A server as it has introduced itself.
struct ServerFacts {
  Era era = Era::kSession;
  std::string revision;
  bool announces_changes = false;  // of its tools
};

// `capabilities` are the client's.
json InitializeParams(const json& capabilities);
// Gives the params of a request what each one carries in the stateless era.
void AddRequestMeta(json& params, const json& capabilities = json::object());

// kUnavailable when the server speaks no revision of ours.
Result<ServerFacts> ReadInitializeResult(const json& result);
// What the server speaks instead, of an error with the code kUnsupportedRevision.
json SupportedRevisions(const RpcError& error);
// The era that fits `supported`, a server's list of revisions; nullopt: none of ours, or no list.
std::optional<Era> ChooseEra(const json& supported);
// Of the result of server/discover; kUnavailable when it is not valid. Era kSession: the server
// names only revisions that begin with "initialize".
Result<ServerFacts> ReadDiscoverResult(const json& result);

}  // namespace agent_graph::tools::mcp
