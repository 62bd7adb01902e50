// Heads of HTTP/1.x replies: where they end, and the form that our parser takes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::net {

// Returns the size of the head at the beginning of `bytes`, with its empty line; 0 if the head is
// not complete. The caller knows that it does not end within the first `searched` bytes.
size_t ReplyHeadSize(std::string_view bytes, size_t searched);

// True if some line of the head ends with LF alone.
bool HasBareLineFeed(std::string_view head);

// The head with CR LF behind each line and a space behind the status code, if it differs in that.
// Some servers and CGI programs write LF alone, and leave out the space where no reason follows;
// RFC 9112 2.2 permits to accept LF.
std::optional<std::string> CorrectedReplyHead(std::string_view head);

}  // namespace agent_graph::net
