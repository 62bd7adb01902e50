// POST /responses: runs the agent and answers in the form of OpenAI's Responses API.
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "facades/openai/handlers.h"
#include "facades/openai/model_options.h"
#include "facades/openai/reply.h"
#include "facades/openai/request_note.h"
#include "facades/openai/response_reader.h"
#include "facades/openai/response_request.h"
#include "facades/openai/response_stream.h"
#include "facades/openai/stored_responses.h"
#include "facades/run/facade_run.h"
#include "graph/compiled_graph.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

void SendResponse(HandlerContext& context, const ResponseObject& response) {
  SendJson(context, ToJson(response), ResponseHeaders(response));
}

// Answers as soon as the run is stored.
void AcceptInBackground(HandlerContext& context, facades::FacadeRun run) {
  ResponseReaderOptions options = ReaderOptions(context);
  options.note_json = run.request.run.note_json;
  api::AcceptedRun accepted;
  if (auto error = api::AcceptGraphRun(context, std::move(run.request), run.terms, accepted)) {
    return context.Fail(*error);
  }
  ResponseReader reader(std::move(options));
  if (accepted.repeated) {
    const ResponseName name{accepted.run.thread_id, accepted.run.run_id};
    if (auto error = ReadResponse(context, name, reader)) return context.Fail(*error);
  } else {
    run::RunStart start;
    start.thread_id = accepted.run.thread_id;
    start.run_id = accepted.run.run_id;
    (void)reader.OnStart(start, &accepted.run);  // sends nothing
  }
  SendResponse(context, reader.response());
}

void AnswerWithEvents(HandlerContext& context, facades::FacadeRun run, bool is_background) {
  ResponseReaderOptions options = ReaderOptions(context);
  options.note_json = run.request.run.note_json;
  ResponseStream stream(context);
  stream.Attach(options, run.terms.accepted);
  ResponseReader reader(std::move(options));
  const auto error = facades::PerformRun(context, std::move(run), reader);
  stream.Finish(error, is_background);
}

void AnswerAtTheEnd(HandlerContext& context, facades::FacadeRun run) {
  ResponseReaderOptions options = ReaderOptions(context);
  options.note_json = run.request.run.note_json;
  run.wants_deltas = false;
  const bool is_repeatable = run.terms.key.has_value();
  ResponseReader reader(std::move(options));
  std::optional<api::ErrorInfo> error = facades::PerformRun(context, std::move(run), reader);
  if (reader.error()) error = reader.error();
  if (!error) return SendResponse(context, reader.response());
  // The run may have had effects, which a library that repeats requests would bring about again.
  bridge::HeaderList headers;
  const bool has_begun = !reader.response().id.empty();
  if (has_begun && !is_repeatable && !IsPermanent(*error)) {
    headers.emplace_back("x-should-retry", "false");
  }
  context.Fail(*error, headers);
}

// Reads and checks the request. Returns the error to answer with.
std::optional<api::ErrorInfo> ReadRequest(HandlerContext& context, ResponseRequest& request,
                                          api::RunTerms& terms) {
  if (auto error = FindUnsupportedInResponse(context.body())) return error;
  const std::string& name = context.api().graph->name();
  const std::string& model = context.body().at("model").get_ref<const std::string&>();
  if (model != name) return UnknownModel(model, name);
  api::Problems problems;
  const auto find_message = [&](const ItemName& item) { return FindItemMessage(context, item); };
  request = ReadResponseRequest(context, find_message, problems);
  terms = facades::ReadTerms(context, request.run.thread_id, problems);
  if (!problems.empty()) return std::move(problems).Error();
  if (auto error =
          FindFormatProblem(context.api(), request.run.call_options.get(), "text.format")) {
    return error;
  }
  if (request.previous) {
    if (auto error = FollowResponse(context, *request.previous, request.run)) return error;
  }
  return facades::CheckThread(context, request.run.thread_id);
}

}  // namespace

void CreateResponse(HandlerContext& context) {
  ResponseRequest request;
  facades::FacadeRun run;
  if (auto error = ReadRequest(context, request, run.terms)) return context.Fail(*error);
  const bool can_store = context.api().state != nullptr;
  if (request.background && !can_store) {
    return context.Fail(
        api::ErrorInfo{api::ApiError::kNotConfigured, "checkpointer not configured", {}});
  }
  run.terms.accepted |= request.background;
  run.request.run = std::move(request.run);
  run::RunRequest& graph_run = run.request.run;
  if (auto error = api::ResolveFiles(context, run.request)) return context.Fail(*error);
  const bool is_stored = (request.store && can_store) || run.terms.accepted;
  graph_run.transient = !is_stored && graph_run.thread_id.empty();
  graph_run.log_pieces = run.terms.accepted;
  const std::string conversation = request.previous ? std::string() : graph_run.thread_id;
  graph_run.note_json = RequestNote(context.body(), is_stored, conversation);
  if (request.stream) return AnswerWithEvents(context, std::move(run), request.background);
  if (request.background) return AcceptInBackground(context, std::move(run));
  AnswerAtTheEnd(context, std::move(run));
}

}  // namespace agent_graph::openai
