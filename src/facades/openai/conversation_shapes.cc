#include "facades/openai/conversation_shapes.h"

#include <array>

#include "facades/openai/response_shapes.h"

namespace agent_graph::openai {
namespace {

using api::Field;
using enum api::FieldType;

constexpr int64_t kItemsMax = 20;

constexpr Field kItem{.type = kObject, .required = true};
constexpr Field kMetadataText{.type = kText, .required = true};

constexpr Field kMetadata{.name = "metadata",
                          .type = kObject,
                          .description =
                              "Up to 16 texts of at most 512 characters, whose names "
                              "have at most 64. They are kept in the thread's metadata",
                          .maximum = kMetadataMembersMax,
                          .entry = &kMetadataText};

constexpr std::array kConversationFields = {
    Field{.name = "items",
          .type = kArray,
          .description = "What the conversation begins with, as `input` of a response",
          .maximum = kItemsMax,
          .entry = &kItem},
    kMetadata,
};
constexpr std::array kConversationChangeFields = {kMetadata};
constexpr std::array kNewItemsFields = {
    Field{.name = "items",
          .type = kArray,
          .description = "Items of the types that `input` of a response may have",
          .required = true,
          .minimum = 1,
          .maximum = kItemsMax,
          .entry = &kItem},
};

}  // namespace

const api::FieldTable kConversationBody{"OpenAiConversationRequest", kConversationFields};
const api::FieldTable kConversationChangeBody{"OpenAiConversationChange",
                                              kConversationChangeFields};
const api::FieldTable kNewItemsBody{"OpenAiNewItems", kNewItemsFields};

}  // namespace agent_graph::openai
