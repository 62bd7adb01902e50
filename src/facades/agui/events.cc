#include "facades/agui/events.h"

#include "base/json.h"

namespace agent_graph::agui {

Event::Event(std::string& out, std::string_view type) : out_(out) {
  out_ += "data: {\"type\":\"";
  out_ += type;
  out_ += '"';
}

Event::~Event() {
  out_ += "}\n\n";
}

Event& Event::Text(std::string_view name, std::string_view text) {
  out_ += ",\"";
  out_ += name;
  out_ += "\":";
  AppendJsonString(out_, text);
  return *this;
}

Event& Event::Json(std::string_view name, std::string_view json) {
  out_ += ",\"";
  out_ += name;
  out_ += "\":";
  out_ += json;
  return *this;
}

Event& Event::At(int64_t micros) {
  return Json("timestamp", std::to_string(micros / 1000));
}

}  // namespace agent_graph::agui
