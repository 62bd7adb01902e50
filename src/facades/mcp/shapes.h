// Fields of a message of JSON-RPC, for the validator and the OpenAPI document. json_rpc.h checks
// what the table does not say.
#pragma once

#include <array>
#include <string_view>

#include "api/http/fields.h"

namespace agent_graph::mcp {

inline constexpr std::array<std::string_view, 1> kRpcVersions = {"2.0"};

inline constexpr std::array kRpcFields = {
    api::Field{.name = "jsonrpc",
               .type = api::FieldType::kChoice,
               .required = true,
               .choices = kRpcVersions},
    api::Field{.name = "id",
               .description = "A text or an integer, of a request; absent in a notification"},
    api::Field{.name = "method",
               .type = api::FieldType::kText,
               .description = "initialize, server/discover, ping, tools/list, tools/call, "
                              "resources/list, resources/templates/list, resources/read, or a "
                              "notification; absent in a response"},
    api::Field{.name = "params", .type = api::FieldType::kObject},
    api::Field{.name = "result",
               .type = api::FieldType::kObject,
               .description = "Of a response of the client to elicitation/create"},
    api::Field{.name = "error", .type = api::FieldType::kObject, .description = "Likewise"},
};

inline constexpr api::FieldTable kRpcBody{.name = "McpMessage", .fields = kRpcFields};

}  // namespace agent_graph::mcp
