#include "cli/api_client.h"

#include <curl/curl.h>

#include <cstdlib>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"

namespace agent_graph::cli {
namespace {

constexpr long kOk = 200;
constexpr long kConnectSeconds = 10;
constexpr size_t kBodyBytesMax = 64UL * 1024 * 1024;
constexpr size_t kReasonBytesMax = 500;

// True if the service has no component for the request. It answers 503 for other reasons, too.
bool IsNotConfigured(std::string_view body) {
  const Result<json> reply = ParseJson(body);
  if (!reply.ok() || !reply->is_object()) return false;
  const json error = reply->value("error", json());
  return error.is_object() && error.value("code", json()) == "NOT_CONFIGURED";
}

}  // namespace

struct ApiClient::Handles {
  CURL* easy = curl_easy_init();
  curl_slist* headers = nullptr;

  Handles() = default;
  ~Handles() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
};

// The answer of one request: lines as they come if it is a stream that the service has accepted.
struct ApiClient::Transfer {
  CURL* easy = nullptr;
  const std::function<void(std::string_view line)>* on_line = nullptr;
  std::string body = {};  // all of it, or the last line that is not complete

  static size_t Receive(char* data, size_t, size_t count, void* self) {
    return static_cast<Transfer*>(self)->Take({data, count});
  }

  size_t Take(std::string_view data) {
    if (body.size() + data.size() > kBodyBytesMax) return 0;
    body.append(data);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (on_line == nullptr || status != kOk) return data.size();
    for (size_t end = 0; (end = body.find('\n')) != std::string::npos;) {
      (*on_line)(std::string_view(body).substr(0, end));
      body.erase(0, end + 1);
    }
    return data.size();
  }
};

ApiClient::ApiClient(std::string url, const std::string& token)
    : url_(std::move(url)), handles_(std::make_unique<Handles>()) {
  while (url_.ends_with('/')) url_.pop_back();
  handles_->headers = curl_slist_append(nullptr, "Content-Type: application/json");
  if (!token.empty()) {
    const std::string header = "Authorization: Bearer " + token;
    handles_->headers = curl_slist_append(handles_->headers, header.c_str());
  }
}
ApiClient::~ApiClient() = default;
ApiClient::ApiClient(ApiClient&&) noexcept = default;
ApiClient& ApiClient::operator=(ApiClient&&) noexcept = default;

ApiClient ApiClient::Of(const Arguments& arguments) {
  const char* token = std::getenv(kTokenVariable);  // NOLINT: nothing changes the environment
  return ApiClient(arguments.Value("url", kUrlDefault), token != nullptr ? token : "");
}

Status ApiClient::Perform(const std::string& path, const std::string* body, Transfer& transfer) {
  CURL* easy = handles_->easy;
  transfer.easy = easy;
  const std::string address = url_ + path;
  curl_easy_reset(easy);  // keeps the connection
  curl_easy_setopt(easy, CURLOPT_URL, address.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, handles_->headers);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Transfer::Receive);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  if (body != nullptr) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body->c_str());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
  }
  const CURLcode code = curl_easy_perform(easy);
  if (code == CURLE_COULDNT_CONNECT) {
    return Status(StatusCode::kUnavailable,
                  "nothing answers at " + url_ +
                      ": start the service (`agent-graph run`), or name its address with --url");
  }
  if (code != CURLE_OK) {
    return Status(StatusCode::kUnavailable, address + ": " + curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  if (status == kOk) return Status::Ok();
  return Status(CodeOf(status, transfer.body), ProblemOf(status, transfer.body));
}

Result<json> ApiClient::Get(const std::string& path) {
  Transfer transfer;
  AG_RETURN_IF_ERROR(Perform(path, nullptr, transfer));
  AG_ASSIGN_OR_RETURN(json reply, ParseJson(transfer.body));
  if (!reply.is_object()) return Status(StatusCode::kUnavailable, path + ": unexpected answer");
  return reply.value("data", json());
}

Status ApiClient::Stream(const std::string& path, const json& body,
                         const std::function<void(std::string_view line)>& on_line) {
  Transfer transfer{.on_line = &on_line};
  const std::string text = DumpJson(body);
  return Perform(path, &text, transfer);
}

StatusCode CodeOf(long status, std::string_view body) {
  if (status == 404) return StatusCode::kNotFound;
  return IsNotConfigured(body) ? StatusCode::kNotConfigured : StatusCode::kUnavailable;
}

std::string ProblemOf(long status, std::string_view body) {
  std::string reason = OneLine(body, kReasonBytesMax);
  const Result<json> reply = ParseJson(body);
  if (reply.ok() && reply->is_object() && reply->contains("detail")) {
    const json& detail = reply->at("detail");
    reason = detail.is_string() ? detail.get<std::string>() : DumpJson(detail);
  }
  std::string problem = "the service answers " + std::to_string(status) + ": " + reason;
  if (status == 401 || status == 403) {
    problem += std::string(" (the token is taken from ") + kTokenVariable + ")";
  }
  if (status == 404) problem += " (--url needs the prefix of the location, if it has one)";
  return problem;
}

}  // namespace agent_graph::cli
