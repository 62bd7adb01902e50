// Reads members of a request's messages that Chat Completions and Responses have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "api/http/validation.h"
#include "api/resources/message_input.h"
#include "facades/run/body_members.h"

namespace agent_graph::openai {

using facades::Below;
using facades::Location;

// Returns a text member, or null. A member of another type is a problem.
const std::string* TextMember(const json& object, const char* name, const Location& location,
                              api::Problems& problems);
// The same; a problem also if there is none.
const std::string* RequiredText(const json& object, const char* name, const Location& location,
                                api::Problems& problems);

// Each adds its problems and then returns nullopt.

// A file by its URL, or as a data URL. `place` is that of the URL.
std::optional<MediaBlock> ReadMediaUrl(const std::string& url, MediaBlock::Type type,
                                       const Location& place, const api::MessageLimits& limits,
                                       api::Problems& problems);
// {"data": base64, "format": "wav"}, which is at `place`.
std::optional<MediaBlock> ReadAudioPart(const json& audio, const Location& place,
                                        api::Problems& problems);
// {"file_id"} of an upload to this service, or {"file_data", "filename"?}, which is at `place`.
std::optional<MediaBlock> ReadFilePart(const json& file, const Location& place,
                                       api::Problems& problems);

// The arguments of a call as a JSON object: no members for an empty text, and BrokenArguments for
// one that is not an object, which the protocol allows.
std::string ReadArguments(const std::string& text);

}  // namespace agent_graph::openai
