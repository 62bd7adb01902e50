// A position in the stream of a run. Opaque text for clients, of fixed width, so that cursors of
// one thread sort like the positions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::run {

// Everything up to and including this position was received: the entries of the thread's log before
// `index`, and of the message that is not stored yet, so many bytes of reasoning and text.
struct Cursor {
  uint64_t thread_number = 0;  // together with the history of the database
  uint64_t lease_epoch = 0;    // epoch of the attempt that produced it
  uint64_t index = 0;          // index of the next log entry
  uint64_t reasoning_bytes = 0;
  uint64_t text_bytes = 0;

  friend auto operator<=>(const Cursor&, const Cursor&) = default;
};

std::string CursorText(const Cursor& cursor);
// nullopt: not a cursor of ours.
std::optional<Cursor> ParseCursor(std::string_view text);

}  // namespace agent_graph::run
