// /responses/{response_id}: reads, cancels and deletes responses that are kept.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/query.h"
#include "api/resources/run_result.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/json_array.h"
#include "base/own_json.h"
#include "facades/openai/deleted_responses.h"
#include "facades/openai/errors.h"
#include "facades/openai/handlers.h"
#include "facades/openai/item_page.h"
#include "facades/openai/object_ids.h"
#include "facades/openai/reply.h"
#include "facades/openai/response_log.h"
#include "facades/openai/response_reader.h"
#include "facades/openai/response_shapes.h"
#include "facades/openai/response_stream.h"
#include "facades/openai/stored_items.h"
#include "facades/openai/stored_responses.h"
#include "facades/run/facade_run.h"
#include "message/codec.h"
#include "settings/settings.h"
#include "state/service.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

// How long a request waits for the end of a run that it stops.
constexpr std::chrono::seconds kStopWait{10};

// Finds the response that the path names. Answers the request and returns false if there is none.
bool FindNamed(HandlerContext& context, ResponseName& name, state::RunRecord& run) {
  name = ParseResponseId(context.head().path_parameters.at(0)).value_or(ResponseName());
  const std::optional<api::ErrorInfo> error = FindResponse(context, name, run);
  if (error) context.Fail(*error);
  return !error;
}

// `include[]`, repeated for several values.
bool WantsEncryptedContent(const api::Query& query) {
  return std::ranges::any_of(query.values(), [](const auto& parameter) {
    const auto& [name, value] = parameter;
    return (name == "include[]" || name == "include") && value == kEncryptedContent;
  });
}

void AnswerWithResponse(HandlerContext& context, const ResponseName& name) {
  ResponseReaderOptions options = ReaderOptions(context);
  options.with_encrypted_content = WantsEncryptedContent(api::Query(context.head().query));
  ResponseReader reader(std::move(options));
  if (auto error = ReadResponse(context, name, reader)) return context.Fail(*error);
  SendJson(context, ToJson(reader.response()), ResponseHeaders(reader.response()));
}

void AnswerWithStream(HandlerContext& context, const ResponseName& name, int64_t after) {
  ResponseReaderOptions options = FollowingReaderOptions(context);
  options.after = after;
  ResponseStream stream(context);
  ResponseReader reader(stream.Attached(std::move(options)));
  api::FollowerOptions follow;
  follow.pieces_of_log = true;
  const auto error = facades::ReadRun(context, {name.thread_id, name.run_id}, follow, reader);
  stream.Finish(error, "");  // the client can resume it
}

api::ErrorInfo OnlyForBackground(std::vector<std::string> place, const std::string& what) {
  const std::string problem =
      "only a response that was created with background=true can be " + what;
  return {
      api::ApiError::kBadRequest, problem, {{std::move(place), problem, api::ProblemType::kValue}}};
}

// Stops the run unless it has ended, and waits for its end. A tool that cannot be interrupted may
// take longer: then the run is still in flight.
Status StopRun(HandlerContext& context, state::RunRecord& run) {
  if (state::HasEnded(run.state)) return Status::Ok();
  AG_RETURN_IF_ERROR(context.state()
                         .RequestStop({context.caller().scope, run.thread_id, true, run.run_id})
                         .status());
  const Status ended = api::AwaitRunEnd(context, run, DeadlineAfter(kStopWait));
  return ended.code() == StatusCode::kDeadlineExceeded ? Status::Ok() : ended;
}

// Reads the messages of a page of items, and no others: all of them may be large.
class ItemPageReader {
 public:
  ItemPageReader(HandlerContext& context, const state::RunRecord& run, ItemPageOptions options)
      : context_(context),
        run_(run),
        options_(std::move(options)),
        page_(options_.limit, context.api().settings->limits.page_bytes_max) {}

  // `ids`: of the messages, in their order. nullopt: there is no item `after`.
  Result<std::optional<ItemPage>> Read(std::vector<std::string> ids) {
    if (options_.newest_first) std::ranges::reverse(ids);
    std::optional<ItemPage> none;
    auto next = ids.begin();
    std::vector<std::string> items;
    if (!options_.after.empty()) {
      const std::optional<ItemName> name = ParseItemId(options_.after);
      next = std::ranges::find(ids, name ? name->message_id : std::string());
      if (next == ids.end()) return none;
      AG_ASSIGN_OR_RETURN(items, ItemsOf(*next++));
      if (!RemoveThrough(options_.after, items)) return none;
    }
    page_.Take(std::move(items));
    while (next != ids.end() && !page_.has_more()) {
      AG_ASSIGN_OR_RETURN(items, ItemsOf(*next++));
      page_.Take(std::move(items));
    }
    return std::optional(std::move(page_));
  }

 private:
  // Returns the items of a message, in the order of the page.
  Result<std::vector<std::string>> ItemsOf(const std::string& message_id) {
    std::vector<std::string> items;
    const Result<state::StoredMessage> found =
        context_.state().GetMessage(context_.caller().scope, run_.thread_id, message_id);
    if (found.status().code() == StatusCode::kNotFound) return items;
    AG_RETURN_IF_ERROR(found.status());
    AG_ASSIGN_OR_RETURN(const Message message, message::FromJsonText(found->json));
    AppendInputItems(run_.thread_id, message, items);
    if (options_.newest_first) std::ranges::reverse(items);
    return items;
  }

  HandlerContext& context_;
  const state::RunRecord& run_;
  const ItemPageOptions options_;
  ItemPage page_;
};

}  // namespace

void GetResponse(HandlerContext& context) {
  const api::Query query(context.head().query);
  api::Problems problems;
  int64_t after = -1;
  if (query.Find(kStartingAfterField.name)) {
    after = api::ReadInteger(query, kStartingAfterField, problems);
  }
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  ResponseName name;
  state::RunRecord run;
  if (!FindNamed(context, name, run)) return;
  if (query.Find("stream").value_or("") != "true") return AnswerWithResponse(context, name);
  if (!run.accepted) {
    return context.Fail(OnlyForBackground({"query", "stream"}, "streamed again"));
  }
  AnswerWithStream(context, name, after);
}

void CancelResponse(HandlerContext& context) {
  ResponseName name;
  state::RunRecord run;
  if (!FindNamed(context, name, run)) return;
  if (!run.accepted) {
    return context.Fail(OnlyForBackground({"path", "response_id"}, "cancelled"));
  }
  const Status stopped = StopRun(context, run);
  if (!stopped.ok()) return context.Fail(stopped);
  AnswerWithResponse(context, name);
}

void DeleteResponse(HandlerContext& context) {
  ResponseName name;
  state::RunRecord run;
  if (!FindNamed(context, name, run)) return;
  // The log of a run in flight may lack its beginning.
  const Status stopped = StopRun(context, run);
  if (!stopped.ok()) return context.Fail(stopped);
  ResponseOrigin origin{};
  if (auto error = ReadOrigin(context, run, origin)) return context.Fail(*error);
  const Status removed = RemoveResponse(context, run, origin);
  // Another request may have deleted the last response meanwhile, and with it the thread.
  const bool is_gone = removed.code() == StatusCode::kNotFound;
  if (!removed.ok() && !is_gone) return context.Fail(removed);
  std::string out = R"({"id":)";
  AppendJsonString(out, ResponseId(name));
  SendJson(context, out + R"(,"object":"response","deleted":true})");
}

void ListInputItems(HandlerContext& context) {
  api::Problems problems;
  ItemPageOptions options = ReadItemPageOptions(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  ResponseName name;
  state::RunRecord run;
  if (!FindNamed(context, name, run)) return;
  std::vector<std::string> ids;
  if (auto error = ReadInputMessageIds(context, run, ids)) return context.Fail(*error);
  const Result<std::optional<ItemPage>> page =
      ItemPageReader(context, run, std::move(options)).Read(std::move(ids));
  if (!page.ok()) return context.Fail(page.status());
  if (!*page) return context.Fail(NoSuchItemBefore("this response"));
  SendJson(context, (*page)->Json());
}

}  // namespace agent_graph::openai
