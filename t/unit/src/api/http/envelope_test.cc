#include "api/http/envelope.h"

#include <gtest/gtest.h>

#include <map>

#include "agent_graph/json.h"
#include "api/http/headers.h"
#include "auth/refusal.h"

namespace agent_graph::api {
namespace {

std::multimap<std::string, std::string> AsMap(const bridge::HeaderList& headers) {
  return {headers.begin(), headers.end()};
}

std::string Only(const bridge::HeaderList& headers, const std::string& name) {
  std::string found;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    EXPECT_EQ(found, "") << name << " appears twice";
    found = value;
  }
  return found;
}

TEST(SuccessEnvelope, HasBothShapes) {
  json body = json::parse(SuccessEnvelope(R"({"a":[1]})", "it \"worked\"", "r-1"));
  EXPECT_EQ(body["success"], true);
  EXPECT_EQ(body["data"], json::parse(R"({"a":[1]})"));
  EXPECT_EQ(body["message"], "it \"worked\"");
  EXPECT_EQ(body["metadata"]["message"], body["message"]);
  EXPECT_EQ(body["metadata"]["request_id"], "r-1");
  EXPECT_EQ(body["metadata"]["timestamp"], body["timestamp"]);
  EXPECT_EQ(body.size(), 5u);
}

TEST(SuccessEnvelope, IsTheSameInParts) {
  const std::vector<std::string> parts = SuccessEnvelopeAround(R"({"a":[1]})", "OK", "r-1");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1], R"({"a":[1]})");
  const json body = json::parse(parts[0] + parts[1] + parts[2]);
  json whole = json::parse(SuccessEnvelope(R"({"a":[1]})", "OK", "r-1"));
  whole["timestamp"] = whole["metadata"]["timestamp"] = body["timestamp"];
  EXPECT_EQ(body, whole);
}

TEST(ErrorEnvelope, HasBothShapes) {
  ErrorInfo error{ApiError::kValidation,
                  "bad \xff thing",
                  {{{"body", "messages", "0"}, "m", ProblemType::kTooLong}}};
  json body = json::parse(ErrorEnvelope(error, "r-1"));
  EXPECT_EQ(body["detail"], "bad \xef\xbf\xbd thing");
  EXPECT_EQ(body["error"]["code"], "VALIDATION_ERROR");
  EXPECT_EQ(body["error"]["message"], body["detail"]);
  EXPECT_EQ(body["error"]["details"],
            json::parse(R"([{"loc":["body","messages","0"],"msg":"m","type":"too_long"}])"));
  EXPECT_EQ(body["metadata"]["request_id"], "r-1");
  EXPECT_EQ(body["metadata"]["message"], body["detail"]);
  EXPECT_FALSE(body.contains("error_code"));
}

TEST(ErrorEnvelope, NamesTheCodeOfAnAuthenticationFailureTwice) {
  json body = json::parse(ErrorEnvelope({ApiError::kUnauthenticated, "", {}}, "r"));
  EXPECT_EQ(body["error_code"], body["error"]["code"]);
}

TEST(Errors, MapEveryStatusCode) {
  const std::map<StatusCode, std::pair<int, std::string>> expected = {
      {StatusCode::kInvalidArgument, {422, "VALIDATION_ERROR"}},
      {StatusCode::kUnauthenticated, {403, "AUTHENTICATION_FAILED"}},
      {StatusCode::kPermissionDenied, {403, "PERMISSION_ERROR"}},
      {StatusCode::kNotFound, {404, "RESOURCE_NOT_FOUND"}},
      {StatusCode::kBusy, {409, "THREAD_BUSY"}},
      {StatusCode::kConflict, {409, "CONFLICT"}},
      {StatusCode::kFenced, {409, "STALE_RUN"}},
      {StatusCode::kResourceExhausted, {503, "OVERLOADED"}},
      {StatusCode::kUnavailable, {503, "SERVICE_UNAVAILABLE"}},
      {StatusCode::kNotConfigured, {503, "NOT_CONFIGURED"}},
      {StatusCode::kCancelled, {503, "CANCELLED"}},
      {StatusCode::kDeadlineExceeded, {504, "TIMEOUT"}},
      {StatusCode::kRecursionLimit, {500, "GRAPH_RECURSION_ERROR"}},
      {StatusCode::kBudgetExceeded, {402, "BUDGET_EXCEEDED"}},
      {StatusCode::kGraph, {500, "GRAPH_ERROR"}},
      {StatusCode::kModel, {500, "MODEL_ERROR"}},
      {StatusCode::kDataLoss, {500, "STORAGE_ERROR"}},
      {StatusCode::kInternal, {500, "INTERNAL_SERVER_ERROR"}},
  };
  for (const auto& [code, answer] : expected) {
    const ErrorKind& kind = Describe(ErrorOf(code));
    EXPECT_EQ(kind.status, answer.first) << StatusCodeName(code);
    EXPECT_EQ(kind.code, answer.second);
  }
}

// Clients treat codes with these prefixes as errors of status 500, whatever the answer's status is.
TEST(Errors, KeepPrefixesOfClientsForServerErrors) {
  for (int i = 0; i <= static_cast<int>(ApiError::kInternal); ++i) {
    const ErrorKind& kind = Describe(static_cast<ApiError>(i));
    EXPECT_FALSE(kind.message.empty());
    for (std::string_view prefix : {"GRAPH", "NODE", "STORAGE", "METRICS", "SERIALIZATION"}) {
      if (kind.code.starts_with(prefix)) {
        EXPECT_EQ(kind.status, 500) << kind.code;
      }
    }
  }
}

TEST(Replies, CarryTheirOwnHeaders) {
  Reply busy = ErrorReply(ApiError::kOverloaded, "r");
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(Only(busy.headers, "Retry-After"), "1");
  EXPECT_EQ(Only(busy.headers, "Content-Type"), "application/json");
  Reply method = MethodNotAllowedReply("GET, OPTIONS", "r");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(Only(method.headers, "Allow"), "GET, OPTIONS");
}

TEST(Replies, OfARefusedHandshakeNameTheCodeToCloseWith) {
  const std::map<ApiError, std::string> expected = {
      {ApiError::kNotFound, "1008"},    {ApiError::kUnauthenticated, "1008"},
      {ApiError::kUnusableKey, "1008"}, {ApiError::kPermissionDenied, "1008"},
      {ApiError::kRateLimited, "1013"}, {ApiError::kOverloaded, "1013"},
      {ApiError::kUnavailable, "1013"}, {ApiError::kInternal, "1011"},
      {ApiError::kTimeout, "1011"},
  };
  for (const auto& [error, code] : expected) {
    const ErrorInfo info{error, "", {}};
    EXPECT_EQ(Only(Refuse(info, true, "r").headers, "X-WS-Close-Code"), code)
        << Describe(error).code;
    EXPECT_EQ(Only(Refuse(info, false, "r").headers, "X-WS-Close-Code"), "");
  }
}

TEST(Errors, NameTheReasonOfARefusal) {
  using Kind = auth::Refusal::Kind;
  const std::map<Kind, ApiError> expected = {
      {Kind::kNoCredential, ApiError::kNoCredential},
      {Kind::kExpiredToken, ApiError::kExpiredToken},
      {Kind::kInvalidToken, ApiError::kInvalidToken},
      {Kind::kUnusableKey, ApiError::kUnusableKey},
      {Kind::kAccount, ApiError::kUnauthenticated},
      {Kind::kHttp, ApiError::kUnauthenticated},
      {Kind::kForbidden, ApiError::kPermissionDenied},
      {Kind::kUnavailable, ApiError::kUnavailable},
      {Kind::kInternal, ApiError::kInternal},
  };
  for (const auto& [kind, error] : expected) {
    EXPECT_EQ(ErrorOf(auth::Refusal{.kind = kind}).error, error) << Describe(error).code;
  }
}

bridge::HeaderList StandardHeadersFor(const settings::Settings& settings, std::string_view origin,
                                      bool https = false) {
  const StandardHeaders standard(
      settings, {.origin = origin, .request_id = "r-1", .timestamp = "now", .https = https});
  bridge::HeaderList headers;
  for (const StandardHeader& header : standard.list()) {
    headers.emplace_back(header.name, header.value);
  }
  return headers;
}

TEST(StandardHeaders, AreOnEveryAnswer) {
  settings::Settings settings;
  bridge::HeaderList headers = StandardHeadersFor(settings, "https://a.example");
  EXPECT_EQ(Only(headers, "X-Request-ID"), "r-1");
  EXPECT_EQ(Only(headers, "X-Timestamp"), "now");
  EXPECT_EQ(Only(headers, "Access-Control-Allow-Origin"), "*");
  EXPECT_NE(Only(headers, "Access-Control-Expose-Headers").find("X-Request-ID"), std::string::npos);
  EXPECT_EQ(Only(headers, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(Only(headers, "X-Frame-Options"), "DENY");
  EXPECT_EQ(AsMap(headers).count("Strict-Transport-Security"), 0u);
  EXPECT_EQ(AsMap(headers).count("Access-Control-Allow-Credentials"), 0u);

  settings.security_headers = false;
  headers = StandardHeadersFor(settings, "", /*https=*/true);
  EXPECT_EQ(AsMap(headers).count("X-Frame-Options"), 0u);
  EXPECT_EQ(AsMap(headers).count("Strict-Transport-Security"), 0u);
  settings.security_headers = true;
  headers = StandardHeadersFor(settings, "", /*https=*/true);
  EXPECT_NE(Only(headers, "Strict-Transport-Security"), "");
}

TEST(StandardHeaders, ReflectListedOriginsOnly) {
  settings::Settings settings;
  settings.cors.origins = {"https://a.example"};
  settings.cors.credentials = true;
  bridge::HeaderList headers = StandardHeadersFor(settings, "https://a.example");
  EXPECT_EQ(Only(headers, "Access-Control-Allow-Origin"), "https://a.example");
  EXPECT_EQ(Only(headers, "Access-Control-Allow-Credentials"), "true");
  EXPECT_EQ(Only(headers, "Vary"), "Origin");
  headers = StandardHeadersFor(settings, "https://evil.example");
  EXPECT_EQ(AsMap(headers).count("Access-Control-Allow-Origin"), 0u);
  EXPECT_EQ(Only(headers, "Vary"), "Origin");
}

TEST(StandardHeaders, ThoseThatAResponseMayReplaceAreMarked) {
  const settings::Settings settings;
  const StandardHeaders standard(settings, {.origin = "", .request_id = "r-1", .timestamp = "now"});
  std::vector<std::string_view> defaults;
  for (const StandardHeader& header : standard.list()) {
    if (header.is_default) defaults.push_back(header.name);
  }
  EXPECT_EQ(defaults, (std::vector<std::string_view>{"X-Content-Type-Options", "Permissions-Policy",
                                                     "Content-Security-Policy"}));
}

TEST(PreflightHeaders, EchoWhatIsAskedFor) {
  settings::Settings settings;
  bridge::HeaderList headers;
  AppendPreflightHeaders(headers, settings, "https://a.example", "content-type, x-team");
  EXPECT_EQ(Only(headers, "Access-Control-Allow-Headers"), "content-type, x-team");
  EXPECT_NE(Only(headers, "Access-Control-Allow-Methods").find("DELETE"), std::string::npos);
  EXPECT_NE(Only(headers, "Access-Control-Max-Age"), "");
  headers.clear();
  AppendPreflightHeaders(headers, settings, "https://a.example", "x\r\nSet-Cookie: a=b");
  EXPECT_EQ(Only(headers, "Access-Control-Allow-Headers").find('\r'), std::string::npos);
  headers.clear();
  settings.cors.origins = {"https://b.example"};
  AppendPreflightHeaders(headers, settings, "https://a.example", "x");
  EXPECT_TRUE(headers.empty());
}

TEST(PreflightHeaders, EchoesNamesThatAHeaderLineCanHold) {
  settings::Settings settings;
  settings.cors.origins = {"https://a.example"};
  const auto echoed = [&](const std::string& names) {
    bridge::HeaderList headers;
    AppendPreflightHeaders(headers, settings, "https://a.example", names);
    for (const auto& [name, value] : headers) {
      if (name == "Access-Control-Allow-Headers") return value == names;
    }
    return false;
  };
  for (const std::string& names :
       {std::string("a"), std::string("z"), std::string("A"), std::string("Z"), std::string("0"),
        std::string("9"), std::string("x-a_b, y"), std::string(2048, 'x')}) {
    EXPECT_TRUE(echoed(names)) << names;
  }
  for (const std::string& names :
       {std::string(), std::string("a:b"), std::string("a\nb"), std::string("a/b"),
        std::string("a@b"), std::string("a[b"), std::string("a`b"), std::string("a{b"),
        std::string(2049, 'x')}) {
    EXPECT_FALSE(echoed(names)) << names;
  }
}

TEST(StandardHeaders, ProtectBrowsers) {
  settings::Settings settings;
  settings.security_headers = true;
  const bridge::HeaderList headers = StandardHeadersFor(settings, "");
  std::map<std::string, std::string> values(headers.begin(), headers.end());
  EXPECT_EQ(values["X-XSS-Protection"], "1; mode=block");
  EXPECT_EQ(values["Referrer-Policy"], "strict-origin-when-cross-origin");
  EXPECT_EQ(values["X-Content-Type-Options"], "nosniff");
  EXPECT_NE(values["Permissions-Policy"].find("microphone=()"), std::string::npos);
  EXPECT_NE(values["Content-Security-Policy"].find("default-src 'self'"), std::string::npos);
  EXPECT_FALSE(values.contains("Strict-Transport-Security"));
}

}  // namespace
}  // namespace agent_graph::api
