// Reads content blocks from JSON: the part of the codec that knows each block type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/status.h"

namespace agent_graph::message {

// kStrict: input from clients; a mistake is a failure that names the field. kStored: text from our
// own writer. User code may have filled a block incorrectly; such a block is kept as an OtherBlock,
// because failing would make the whole thread unreadable.
enum class ReadMode { kStrict, kStored };

Result<ContentBlock> ReadBlock(const json& value, const std::string& location, ReadMode mode);

// The member; null if it is absent or JSON null.
const json* FindMember(const json& object, std::string_view member);

// `location` + "." + `member`; only `member` if `location` is empty.
std::string MemberLocation(const std::string& location, std::string_view member);
Status InvalidField(const std::string& location, std::string_view problem);

// The text of a string member; empty if absent or null.
Result<std::string> OptionalText(const json& object, const char* member,
                                 const std::string& location);
// The summaries of its reasoning blocks, one after the other.
std::string ReasoningOfBlocks(const Message& message);
// A 64-bit integer; 25.0 counts as one. nullopt if absent or null.
Result<std::optional<int64_t>> OptionalInteger(const json& object, const char* member,
                                               const std::string& location);

}  // namespace agent_graph::message
