// Sessions of clients up to revision 2025-11-25. The id of a session is its content, sealed: every
// worker can read it, and nothing has to be kept. Only the end of a session is stored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/http/context.h"
#include "facades/mcp/peer.h"

namespace agent_graph::mcp {

// A session ends after this time at the latest.
inline constexpr int64_t kSessionSeconds = int64_t{30} * 24 * 3600;

// Returns the id of a new session of the caller. `peer.session` is set. Fails as the state does.
Result<std::string> BeginSession(api::HandlerContext& context, Peer& peer);

// Reads the session that the request names. kNotFound: there is none of the caller, or it has
// ended; kInvalidArgument: the request names none.
Result<Peer> FindSession(api::HandlerContext& context);

// Ends the caller's session for all workers.
Status EndSession(api::HandlerContext& context, const Peer& peer);

// Seal a text for a purpose with the secret of the service, for this caller, and open it again.
// `purpose` distinguishes the kinds of texts. nullopt: it was sealed for something else.
Result<std::string> SealFor(api::HandlerContext& context, std::string_view purpose,
                            std::string_view payload);
Result<std::optional<std::string>> UnsealFor(api::HandlerContext& context, std::string_view purpose,
                                             std::string_view text);

}  // namespace agent_graph::mcp
