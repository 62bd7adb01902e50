// The client of a request: its revision of the protocol, and what it can do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"

namespace agent_graph::mcp {

// Up to 2025-11-25 a client begins a session with "initialize". From 2026-07-28 on every request
// states the revision and the client's capabilities.
enum class Era : uint8_t { kSession, kStateless };

inline constexpr std::string_view kStatelessRevision = "2026-07-28";
inline constexpr std::string_view kNewestSessionRevision = "2025-11-25";
// The revision of a client in a session that does not send the header.
inline constexpr std::string_view kAssumedRevision = "2025-03-26";

// The revisions from which on results may contain sounds, and links to resources.
inline constexpr std::string_view kAudioSince = "2025-03-26";
inline constexpr std::string_view kLinksSince = "2025-06-18";

struct Peer {
  Era era = Era::kSession;
  std::string revision{kNewestSessionRevision};
  bool fills_forms = false;  // the client can ask its user to fill in a form
  bool opens_pages = false;  // the client can ask its user to visit a web page
  // Identifies the session; empty: there is none.
  std::string session = {};

  // The stream of a call in a session begins with an event without a message, so that the client
  // can resume it.
  bool resumes_from_start() const { return revision >= kNewestSessionRevision; }
};

// True for a revision with sessions that this server speaks.
bool IsSessionRevision(std::string_view revision);
// All revisions that this server speaks, newest first, as a JSON array.
std::string RevisionsJson();

// Sets what the client's capabilities, an object, say about questions to its user.
void ReadCapabilities(const json& capabilities, Peer& peer);

}  // namespace agent_graph::mcp
