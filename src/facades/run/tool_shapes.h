// Shapes of the tools of a client and of calls to them, which are the same in several protocols.
#pragma once

#include <array>
#include <string_view>

#include "api/http/fields.h"

namespace agent_graph::facades {

inline constexpr std::array<std::string_view, 1> kFunctionOnly = {"function"};

inline constexpr api::Field kToolName{.name = "name",
                                      .type = api::FieldType::kText,
                                      .description = "1 to 64 letters, digits, _ or -",
                                      .required = true};
inline constexpr api::Field kToolDescription{.name = "description",
                                             .type = api::FieldType::kText,
                                             .description = "Description for the model"};
inline constexpr api::Field kToolParameters{.name = "parameters",
                                            .type = api::FieldType::kObject,
                                            .description = "JSON Schema of the arguments"};
inline constexpr std::array kToolFields = {kToolName, kToolDescription, kToolParameters};

inline constexpr std::array kCalledFunctionFields = {
    api::Field{.name = "name", .type = api::FieldType::kText, .required = true, .not_blank = true},
    api::Field{.name = "arguments",
               .type = api::FieldType::kText,
               .description = "The text of a JSON object; empty: no arguments"},
};
inline constexpr std::array kCallFields = {
    api::Field{.name = "id", .type = api::FieldType::kText, .required = true, .not_blank = true},
    api::Field{.name = "type", .type = api::FieldType::kChoice, .choices = kFunctionOnly},
    api::Field{.name = "function",
               .type = api::FieldType::kObject,
               .required = true,
               .members = kCalledFunctionFields},
};
inline constexpr api::Field kCall{
    .type = api::FieldType::kObject, .required = true, .members = kCallFields};

}  // namespace agent_graph::facades
