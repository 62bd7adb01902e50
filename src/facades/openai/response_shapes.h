// The fields of the requests below /responses, as far as they have a type of their own.
#pragma once

#include <cstdint>

#include "api/http/fields.h"

namespace agent_graph::openai {

extern const api::FieldTable kResponseBody;
extern const api::FieldTable kResponseQuery;    // GET /responses/{response_id}
extern const api::FieldTable kInputItemsQuery;  // GET …/input_items

inline constexpr size_t kMetadataMembersMax = 16;  // of a response and of a conversation

inline constexpr int64_t kInputItemsDefault = 20;
inline constexpr int64_t kInputItemsMax = 100;

extern const api::Field kStartingAfterField;
extern const api::Field kLimitField;
extern const api::Field kOrderField;

}  // namespace agent_graph::openai
