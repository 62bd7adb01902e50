#include "api/http/json_members.h"

#include "base/clock.h"
#include "base/json.h"

namespace agent_graph::api {

void AppendTextMember(std::string& out, std::string_view key, std::string_view text) {
  out += '"';
  out += key;
  out += "\":";
  if (text.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, text);
  }
}

void AppendTimeMember(std::string& out, std::string_view key, int64_t unix_micros) {
  AppendTextMember(out, key, unix_micros == 0 ? std::string() : IsoTimestamp(unix_micros));
}

}  // namespace agent_graph::api
