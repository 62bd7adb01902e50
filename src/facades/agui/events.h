// The events of AG-UI as server-sent events: `data: {…}` and an empty line each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agent_graph::agui {

inline constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

// Writes one event while it exists. Members with an empty text are written; the caller leaves out
// what is absent, because clients take null for an error.
class Event {
 public:
  Event(std::string& out, std::string_view type);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Event& Text(std::string_view name, std::string_view text);
  Event& Json(std::string_view name, std::string_view json);
  // The time, in milliseconds.
  Event& At(int64_t micros);

 private:
  std::string& out_;
};

}  // namespace agent_graph::agui
