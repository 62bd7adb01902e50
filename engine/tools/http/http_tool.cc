#include "tools/http/http_tool.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent_graph/json.h"
#include "base/allocation_account.h"
#include "base/header_value.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "runtime/large_work.h"
#include "tools/call/engine_tool_context.h"
#include "tools/call/reply_memory.h"
#include "tools/http/url_template.h"

namespace agent_graph::tools {
namespace {

constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
constexpr char kIdempotencyHeader[] = "Idempotency-Key";
constexpr std::chrono::milliseconds kConnectTimeout{10'000};
constexpr std::chrono::milliseconds kRefusalTimeout{5'000};
constexpr size_t kUrlBytesMax = 64 * 1024;
// maximum part of an error page that is passed to the model
constexpr size_t kRefusalBytesMax = 2000;
constexpr size_t kTypeBytesShown = 100;

bool IsHeaderName(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

// Returns the names under "properties" in the arguments' schema.
Result<std::vector<std::string>> DeclaredNames(const std::string& parameters_json) {
  AG_ASSIGN_OR_RETURN(const json schema, ParseJson(parameters_json));
  std::vector<std::string> names;
  if (!schema.is_object()) return InvalidArgument("must be a JSON object");
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return names;
  if (!properties->is_object()) return InvalidArgument("\"properties\" must be an object");
  for (const auto& [name, value] : properties->items()) names.push_back(name);
  return names;
}

bool IsText(std::string_view content_type) {
  constexpr std::string_view kTextTypes[] = {"text/", "xml", "yaml", "javascript", "urlencoded"};
  if (content_type.empty()) return true;
  return std::any_of(std::begin(kTextTypes), std::end(kTextTypes), [&](std::string_view piece) {
    return content_type.find(piece) != std::string_view::npos;
  });
}

bool IsIdempotent(const HttpTool& tool) {
  return tool.idempotent || tool.method == "GET";
}

// One tool with everything that its calls need. Immutable, shared by its calls.
class Endpoint {
 public:
  static Result<std::shared_ptr<const Endpoint>> Create(
      const HttpTool& tool, const Environment& environment,
      std::shared_ptr<const net::HttpClient> client) {
    AG_RETURN_IF_ERROR(CheckHttpTool(tool));
    std::shared_ptr<Endpoint> endpoint(new Endpoint);
    endpoint->tool_ = tool;
    endpoint->client_ = std::move(client);
    Result<UrlTemplate> url = UrlTemplate::Parse(tool.url, environment, endpoint->secrets_);
    if (!url.ok()) return InvalidArgument("url: " + url.status().message());
    endpoint->url_ = std::move(*url);
    AG_ASSIGN_OR_RETURN(endpoint->headers_,
                        ExpandHeaders(tool.headers, environment, endpoint->secrets_));
    AG_ASSIGN_OR_RETURN(const std::vector<std::string> names, DeclaredNames(tool.parameters_json));
    const std::vector<std::string>& in_url = endpoint->url_.arguments();
    for (const std::string& name : names) {
      if (std::find(in_url.begin(), in_url.end(), name) == in_url.end()) {
        endpoint->remaining_.push_back(name);
      }
    }
    return std::shared_ptr<const Endpoint>(std::move(endpoint));
  }

  ToolOutput Call(const json& arguments, ToolContext& context) const {
    auto* const engine = dynamic_cast<EngineToolContext*>(&context);
    if (engine == nullptr) return ToolOutput::Error("the tool was called outside of a run");
    const TolerateAllocations tolerated;
    Result<net::HttpRequest> request = MakeRequest(arguments, context);
    if (!request.ok()) return ToolOutput::Error(request.status().message());
    request->deadline = engine->deadline();
    ReplySize size(engine->reply_memory());
    Result<ToolOutput> output = Send(std::move(*request), engine->cancellation(), size);
    if (output.ok()) return *std::move(output);
    context.Log(LogLevel::kWarning, "tool " + tool_.name + ": " + output.status().ToString());
    return ToolOutput::Error(Explain(output.status()));
  }

 private:
  Endpoint() = default;

  Result<net::HttpRequest> MakeRequest(const json& arguments, const ToolContext& context) const {
    net::HttpRequest request;
    request.method = tool_.method;
    request.headers = headers_;
    const auto is_set = [&](std::string_view name) {
      return std::any_of(headers_.begin(), headers_.end(), [&](const auto& header) {
        return EqualsIgnoringCase(header.first, name);
      });
    };
    if (!is_set("accept")) request.headers.emplace_back("Accept", "application/json, text/*;q=0.9");
    AG_ASSIGN_OR_RETURN(request.url, url_.Fill(arguments));
    if (tool_.method == "GET") {
      for (const std::string& name : remaining_) {
        const auto value = arguments.find(name);
        if (value == arguments.end()) continue;
        AG_RETURN_IF_ERROR(AppendQuery(name, *value, request.url));
      }
    } else {
      if (!is_set(kIdempotencyHeader)) {
        request.headers.emplace_back(kIdempotencyHeader, context.idempotency_key());
      }
      AddBody(arguments, request);
      if (!request.body.empty() && !is_set("content-type")) {
        request.headers.emplace_back("Content-Type", "application/json");
      }
    }
    if (request.url.size() > kUrlBytesMax) {
      return InvalidArgument("the arguments make the URL longer than " +
                             std::to_string(kUrlBytesMax) + " bytes");
    }
    request.connect_timeout = std::min(kConnectTimeout, tool_.timeout);
    request.first_byte_timeout = tool_.timeout;
    request.idle_timeout = tool_.timeout;
    request.reply_bytes_max = tool_.reply_bytes_max;
    request.once = !IsIdempotent(tool_);
    return request;
  }

  void AddBody(const json& arguments, net::HttpRequest& request) const {
    if (remaining_.empty()) return;
    json body = json::object();
    for (const std::string& name : remaining_) {
      const auto value = arguments.find(name);
      if (value != arguments.end()) body[name] = *value;
    }
    request.body = DumpJson(body);
  }

  // Fails only for transport errors; an error response of the service is an output.
  Result<ToolOutput> Send(net::HttpRequest request, const runtime::Cancellation& cancellation,
                          ReplySize& size) const {
    AG_ASSIGN_OR_RETURN(const std::unique_ptr<net::HttpCall> call,
                        client_->Start(std::move(request), cancellation));
    AG_ASSIGN_OR_RETURN(const net::HttpHead head, call->ReadHead());
    if (head.status < 200 || head.status > 299) return Refusal(*call, head);
    std::string body;
    for (;;) {
      AG_ASSIGN_OR_RETURN(const std::string piece, call->Read());
      if (piece.empty()) break;
      AG_RETURN_IF_ERROR(size.Add(piece));
      body += piece;
    }
    return Read(std::move(body), head.Header("content-type"));
  }

  ToolOutput Refusal(net::HttpCall& call, const net::HttpHead& head) const {
    std::string text = "the service answered HTTP " + std::to_string(head.status);
    call.LimitDeadline(DeadlineAfter(kRefusalTimeout));
    Result<std::string> body = call.ReadRest(kRefusalBytesMax);
    const std::string_view type = head.Header("content-type");
    if (body.ok() && !body->empty() && (IsText(type) || type.find("json") != type.npos)) {
      const bool is_cut = body->size() >= kRefusalBytesMax;
      is_cut ? BlotOutOfCutText(secrets_, *body) : BlotOut(secrets_, *body);
      const std::string_view shown = CutAtCharacter(*body, kRefusalBytesMax - 8);
      text += ": " + std::string(shown) + (shown.size() < body->size() ? "..." : "");
    }
    return ToolOutput::Error(text);
  }

  ToolOutput Read(std::string body, std::string_view type) const {
    if (body.empty()) return {};
    if (type.find("json") != std::string_view::npos) {
      ToolOutput output;
      runtime::RunSized(body.size(), [&] { output = ReadJson(body); });
      return output;
    }
    if (!IsText(type)) {
      return ToolOutput::Error("the service answered with " + OneLine(type, kTypeBytesShown) +
                               ", which is not text");
    }
    if (!tool_.result_pointer.empty()) {
      return ToolOutput::Error("the service's answer is not JSON");
    }
    BlotOut(secrets_, body);
    return body;
  }

  // Secrets are replaced after parsing: a service may write a character of one as an escape.
  ToolOutput ReadJson(const std::string& body) const {
    Result<json> value = ParseJson(body);
    if (!value.ok()) return ToolOutput::Error("the service's answer is not valid JSON");
    BlotOut(secrets_, *value);
    if (tool_.result_pointer.empty()) return *std::move(value);
    const json::json_pointer pointer(tool_.result_pointer);
    if (!value->contains(pointer)) {
      return ToolOutput::Error("the service's answer has no " + tool_.result_pointer);
    }
    return value->at(pointer);
  }

  std::string Explain(const Status& failure) const {
    switch (failure.code()) {
      case StatusCode::kCancelled:
        return "the call was cancelled";
      case StatusCode::kDeadlineExceeded:
        return "the service did not answer within " + std::to_string(tool_.timeout.count()) + " ms";
      case StatusCode::kResourceExhausted:
        return "the service's answer is larger than " + std::to_string(tool_.reply_bytes_max) +
               " bytes";
      default:
        return "the service failed: " + failure.message();
    }
  }

  HttpTool tool_;
  UrlTemplate url_;
  net::HttpHeaders headers_;
  std::vector<std::string> remaining_;  // declared arguments that are not part of the URL
  std::vector<std::string> secrets_;
  std::shared_ptr<const net::HttpClient> client_;
};

}  // namespace

Result<net::HttpHeaders> ExpandHeaders(const net::HttpHeaders& headers,
                                       const Environment& environment,
                                       std::vector<std::string>& secrets) {
  net::HttpHeaders expanded;
  for (const auto& [name, value] : headers) {
    if (!IsHeaderName(name))
      return InvalidArgument("headers: \"" + name + "\" is not a valid header name");
    Result<std::string> text = ExpandVariables(value, environment, &secrets);
    if (!text.ok()) return InvalidArgument("headers." + name + ": " + text.status().message());
    if (!IsHeaderValue(*text))
      return InvalidArgument("headers." + name + ": holds control characters");
    expanded.emplace_back(name, *std::move(text));
  }
  return expanded;
}

Status CheckHttpTool(const HttpTool& tool) {
  if (std::find(std::begin(kMethods), std::end(kMethods), tool.method) == std::end(kMethods)) {
    return InvalidArgument("method: must be one of GET, POST, PUT, PATCH, DELETE");
  }
  if (tool.url.empty()) return InvalidArgument("url: must not be empty");
  if (tool.timeout.count() <= 0) return InvalidArgument("timeout: must be positive");
  if (tool.reply_bytes_max == 0) return InvalidArgument("reply_bytes_max: must be positive");
  try {
    json::json_pointer pointer(tool.result_pointer);
  } catch (const json::exception&) {
    return InvalidArgument("result_pointer: must be a JSON pointer, such as /data/items");
  }
  const Result<std::vector<std::string>> names = DeclaredNames(tool.parameters_json);
  if (!names.ok()) return InvalidArgument("parameters: " + names.status().message());
  // The arguments in the URL do not depend on the environment.
  for (size_t at = tool.url.find('{'); at != std::string::npos; at = tool.url.find('{', at + 1)) {
    if (at > 0 && tool.url[at - 1] == '$') continue;
    const std::string name = tool.url.substr(at + 1, tool.url.find('}', at) - at - 1);
    if (std::find(names->begin(), names->end(), name) == names->end()) {
      return InvalidArgument("url: the argument {" + name +
                             "} is not among the parameters' properties");
    }
  }
  return Status::Ok();
}

Result<Tool> MakeHttpTool(const HttpTool& tool, const Environment& environment,
                          std::shared_ptr<const net::HttpClient> client) {
  AG_ASSIGN_OR_RETURN(const std::shared_ptr<const Endpoint> endpoint,
                      Endpoint::Create(tool, environment, std::move(client)));
  return Tool{
      .name = tool.name,
      .description = tool.description,
      .parameters_json = tool.parameters_json,
      .function = [endpoint](const json& arguments,
                             ToolContext& context) { return endpoint->Call(arguments, context); },
      .idempotent = IsIdempotent(tool),
      .execution = Execution::kNonBlocking,
      .timeout = tool.timeout,
      .tags = tool.tags};
}

}  // namespace agent_graph::tools
