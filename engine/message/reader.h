// JSON → content blocks: the part of the codec that knows each block type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/status.h"

namespace agent_graph::message {

// kStrict: what clients send; mistakes are failures that name the field. kStored: what our writer
// wrote, perhaps for user code that filled a block in oddly; such a block is kept as an OtherBlock,
// because a thread that cannot be read any more would be worse.
enum class ReadMode { kStrict, kStored };

Result<ContentBlock> ReadBlock(const json& value, const std::string& location, ReadMode mode);

// The member, null when it is absent or JSON null.
const json* FindMember(const json& object, std::string_view member);

// `location` + "." + `member`, without the dot at the top.
std::string MemberLocation(const std::string& location, std::string_view member);
Status InvalidField(const std::string& location, std::string_view problem);

// The text of a string member; empty when absent or null.
Result<std::string> OptionalText(const json& object, const char* member,
                                 const std::string& location);
// The summaries of its reasoning blocks, one after the other.
std::string ReasoningOfBlocks(const Message& message);
// Of 64 bits; 25.0 is one, too. Nothing when absent or null.
Result<std::optional<int64_t>> OptionalInteger(const json& object, const char* member,
                                               const std::string& location);

}  // namespace agent_graph::message
