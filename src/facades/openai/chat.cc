// POST /chat/completions: runs the agent and answers in the form of OpenAI's API.
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "facades/openai/chat_reader.h"
#include "facades/openai/chat_request.h"
#include "facades/openai/chat_view.h"
#include "facades/openai/chat_writer.h"
#include "facades/openai/handlers.h"
#include "facades/openai/model_options.h"
#include "facades/openai/reply.h"
#include "facades/run/facade_run.h"
#include "graph/compiled_graph.h"

namespace agent_graph::openai {

void CompleteChat(api::HandlerContext& context) {
  if (auto error = FindUnsupported(context.body())) return context.Fail(*error);
  const std::string& name = context.api().graph->name();
  const std::string& model = context.body().at("model").get_ref<const std::string&>();
  if (model != name) return context.Fail(UnknownModel(model, name));
  api::Problems problems;
  ChatRequest request = ReadChatRequest(context, problems);
  api::RunTerms terms = facades::ReadTerms(context, request.run.thread_id, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  const models::CallOptions* options = request.run.call_options.get();
  if (auto error = FindFormatProblem(context.api(), options, "response_format")) {
    return context.Fail(*error);
  }
  if (auto error = facades::CheckThread(context, request.run.thread_id)) {
    return context.Fail(*error);
  }
  facades::FacadeRun run{.request = {.run = std::move(request.run)}};
  if (auto error = api::ResolveFiles(context, run.request)) return context.Fail(*error);
  run.request.run.transient = run.request.run.thread_id.empty() && !terms.accepted;
  run.terms = std::move(terms);
  run.wants_deltas = request.stream;
  ChatView view(context.api().settings->facades.openai.show_tools, *run.request.run.client_tools);
  ChatWriter writer(context, request.stream, request.include_usage);
  ChatReader reader(view, writer, run.terms.accepted);
  reader.Finish(facades::PerformRun(context, std::move(run), reader));
}

}  // namespace agent_graph::openai
