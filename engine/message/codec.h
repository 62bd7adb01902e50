// The only codec between Message and the JSON of the wire and of the store.
//
// Written shape (every key present, null if not set):
//   message_id (string), role, content (array of blocks), delta, tools_calls (OpenAI shape, or
//   null), reasoning (text or null), timestamp (Unix seconds), metadata (object), usages, raw.
// Also accepted: content as a string, flat {type:image,file_id}, integer ids, unknown keys.
// All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/status.h"

namespace agent_graph::message {

// `location` is the path for error messages, e.g. "messages.0": "messages.0.role: must be one of
// …". Placeholder ids (0, "0", "", null, absent) become the empty id. `delta` is ignored.
Result<Message> FromJson(const json& value, const std::string& location);

json ToJson(const Message& message);
// The same as compact text: the form in which messages are stored and served.
std::string ToJsonText(const Message& message);
// Reads text written by ToJsonText; kDataLoss if it is something else.
Result<Message> FromJsonText(std::string_view text);

// Positions of the parts that differ between two pieces of a message, in the string that has them.
struct DeltaPlaces {
  size_t piece = 0;  // the JSON string of the piece; if there are two, of the reasoning
  size_t after_piece = 0;
  size_t time = 0;
  size_t after_time = 0;
};
// A streamed piece of `message_id`: {"…","delta":true,"content":[{"type":"text","text":piece}]}.
// Written without a JSON tree, because it is called for each token.
DeltaPlaces AppendDeltaJson(std::string& out, std::string_view message_id,
                            std::string_view text_piece, std::string_view reasoning_piece,
                            int64_t unix_micros);

// The text that GET …/messages?search= searches: text blocks and tool results.
std::string SearchText(std::string_view stored_message);

}  // namespace agent_graph::message
