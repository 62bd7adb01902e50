#include "facades/openai/reply.h"

#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace agent_graph::openai {
namespace {

constexpr size_t kShownNameBytesMax = 100;

std::string Quoted(std::string_view name) {
  std::string out;
  AppendJsonString(out, CutAtCharacter(name, kShownNameBytesMax));
  return out;
}

}  // namespace

void SendJson(api::HandlerContext& context, std::string json, bridge::HeaderList headers) {
  headers.emplace_back("Content-Type", "application/json");
  std::vector<std::string> body;
  body.push_back(std::move(json));
  context.exchange().Reply(context.MakeHead(200, std::move(headers)), std::move(body), "ok");
}

api::ErrorInfo UnknownModel(std::string_view wanted, std::string_view name) {
  const std::string problem =
      "there is no model " + Quoted(wanted) + "; the agent is the model " + Quoted(name);
  api::ErrorInfo error{api::ApiError::kNotFound, problem, {}};
  error.details.push_back({{"body", "model"}, problem, api::ProblemType::kValue});
  error.code = "model_not_found";
  return error;
}

}  // namespace agent_graph::openai
