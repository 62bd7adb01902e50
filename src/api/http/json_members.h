// Members of JSON objects that are appended as text, without a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agent_graph::api {

// Appends `"key":"text"`, or `"key":null` if the text is empty. `key` is a plain name.
void AppendTextMember(std::string& out, std::string_view key, std::string_view text);
// Appends `"key":"2026-06-16T12:00:00.123456Z"`, or `"key":null` for 0.
void AppendTimeMember(std::string& out, std::string_view key, int64_t unix_micros);

}  // namespace agent_graph::api
