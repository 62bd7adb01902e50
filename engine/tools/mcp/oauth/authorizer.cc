#include "tools/mcp/oauth/authorizer.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/runtime.h"
#include "tools/mcp/oauth/text_member.h"
#include "tools/mcp/protocol/background.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

constexpr std::chrono::milliseconds kFetchTimeout{20'000};  // for all calls of a fetch
constexpr std::chrono::milliseconds kCallTimeout{10'000};   // per call
constexpr std::chrono::milliseconds kConnectTimeout{5'000};
constexpr size_t kDocumentBytesMax = 64 * 1024;
constexpr std::chrono::milliseconds kPauseMin{1'000};
constexpr std::chrono::milliseconds kPauseMax{60'000};
constexpr std::chrono::seconds kRenewBeforeMax{60};
constexpr size_t kSecretsMax = 8;
constexpr size_t kFailureBytesMax = 500;

struct Document {
  int status = 0;
  std::string body;
};

Result<Document> Call(const net::HttpClient& http, net::HttpRequest request,
                      const WaitOptions& wait) {
  request.connect_timeout = kConnectTimeout;
  request.first_byte_timeout = kCallTimeout;
  request.idle_timeout = kCallTimeout;
  request.deadline = std::min(wait.deadline, DeadlineAfter(kCallTimeout));
  request.reply_bytes_max = kDocumentBytesMax;
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<net::HttpCall> call,
                      http.Start(std::move(request), wait.cancellation));
  Document document;
  AG_ASSIGN_OR_RETURN(const net::HttpHead head, call->ReadHead());
  document.status = head.status;
  AG_ASSIGN_OR_RETURN(document.body, call->ReadRest(kDocumentBytesMax));
  return document;
}

// Returns kNotFound if there is no such document at `url`.
Result<json> GetDocument(const net::HttpClient& http, const std::string& url,
                         const WaitOptions& wait) {
  net::HttpRequest request;
  request.method = "GET";
  request.url = url;
  request.headers = {{"Accept", "application/json"}};
  AG_ASSIGN_OR_RETURN(const Document document, Call(http, std::move(request), wait));
  if (document.status >= 400 && document.status < 500) {
    return Status(StatusCode::kNotFound, "there is no such document");
  }
  if (document.status != 200) {
    return Unavailable("a metadata document was answered with HTTP " +
                       std::to_string(document.status));
  }
  Result<json> parsed = ParseJson(document.body);
  // Not JSON: the server returns the same page for every path.
  if (!parsed.ok()) return Status(StatusCode::kNotFound, "there is no such document");
  return parsed;
}

Result<json> GetFirst(const net::HttpClient& http, const std::vector<std::string>& urls,
                      const WaitOptions& wait) {
  for (const std::string& url : urls) {
    Result<json> document = GetDocument(http, url, wait);
    if (document.ok() || document.status().code() != StatusCode::kNotFound) return document;
  }
  return Status(StatusCode::kNotFound, "there is no such document");
}

bool HasAll(const std::vector<std::string>& scopes, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& scope) {
    return std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
  });
}

}  // namespace

Authorizer::Authorizer(Options options, std::shared_ptr<const net::HttpClient> http)
    : options_(std::move(options)),
      http_(std::move(http)),
      issuer_(options_.issuer),
      refresh_token_(options_.credentials.refresh_token),
      // The endpoint is known, so a token is fetched before the first request.
      needed_(!options_.token_endpoint.empty() || !options_.issuer.empty()) {}

void Authorizer::Close() {
  closing_.Cancel(runtime::CancelReason::kShutdown);
}

std::vector<std::string> Authorizer::secrets() const {
  std::vector<std::string> secrets = {options_.credentials.client_secret,
                                      options_.credentials.refresh_token};
  {
    MutexLock lock(mutex_);
    secrets.insert(secrets.end(), secrets_.begin(), secrets_.end());
  }
  std::erase(secrets, "");
  return secrets;
}

Result<TokenPtr> Authorizer::Current(const WaitOptions& wait) {
  TokenPtr old;
  {
    MutexLock lock(mutex_);
    if (!needed_) return TokenPtr();
    const Deadline now = options_.now();
    if (token_ != nullptr && now >= token_->renew_at) FetchIfDue();
    // The token can still be used while a new one is fetched.
    if (token_ != nullptr && now < token_->expires_at) return token_;
    old = token_;
  }
  return Wait(old, wait);
}

Result<TokenPtr> Authorizer::Another(const TokenPtr& refused, const Challenge& challenge,
                                     const WaitOptions& wait) {
  const bool more_scopes = challenge.error == "insufficient_scope";
  {
    MutexLock lock(mutex_);
    needed_ = true;
    if (!challenge.resource_metadata.empty() && challenge.resource_metadata != metadata_url_) {
      metadata_url_ = challenge.resource_metadata;
      metadata_url_changed_ = true;
    }
    if (more_scopes && !options_.scopes.empty()) {
      return Unavailable("the server wants a token for " +
                         OneLine(JoinScopes(challenge.scopes), kShownBytesMax) +
                         ", and other scopes are configured");
    }
    if (more_scopes && refused != nullptr && HasAll(refused->scopes, challenge.scopes)) {
      return Unavailable("the server refuses a token for the scopes that it wants");
    }
    AddScopes(challenge.scopes, demanded_);
    if (!more_scopes && refused != nullptr && refused == token_ && !refused->accepted) {
      // The server has never accepted this token and would not accept a new one.
      token_ = nullptr;
      Postpone(Unavailable("the server refuses the token that was issued for it"));
      return failure_;
    }
  }
  return Wait(refused, wait);
}

void Authorizer::Accept(const TokenPtr& token) {
  if (token->accepted.exchange(true)) return;
  MutexLock lock(mutex_);
  pause_ = std::chrono::milliseconds(0);
}

void Authorizer::Postpone(Status failure) {
  failure_ = std::move(failure);
  pause_ = std::clamp(pause_ * 2, kPauseMin, kPauseMax);
  not_before_ = DeadlineAfter(pause_);
}

Result<TokenPtr> Authorizer::Wait(const TokenPtr& unwanted, const WaitOptions& wait) {
  for (;;) {
    const auto fetched = std::make_shared<runtime::Signal>();
    {
      MutexLock lock(mutex_);
      if (token_ != nullptr && token_ != unwanted) return token_;
      if (!FetchIfDue()) return failure_;
      waiting_.push_back(fetched);
    }
    const runtime::WakeReason reason = fetched->Wait(&wait.cancellation, wait.deadline);
    MutexLock lock(mutex_);
    std::erase(waiting_, fetched);
    AG_RETURN_IF_ERROR(runtime::WakeStatus(reason, &wait.cancellation));
    if (!failure_.ok()) return failure_;
  }
}

bool Authorizer::FetchIfDue() {
  if (fetching_) return true;
  if (MonotonicClock::now() < not_before_) return false;
  runtime::Runtime::Current()->Spawn(
      [self = shared_from_this()] {
        RunToEnd<TokenPtr>([&] { return self->Fetch(); },
                           [&](Result<TokenPtr> token) { self->Fetched(std::move(token)); });
      },
      /*here=*/true);
  fetching_ = true;
  return true;
}

void Authorizer::Fetched(Result<TokenPtr> token) {
  std::vector<std::shared_ptr<runtime::Signal>> waiting;
  Status failure;
  if (!token.ok()) {
    std::string text = token.status().message();
    BlotOut(secrets(), text);
    failure = Unavailable("no access token: " + OneLine(text, kFailureBytesMax));
  }
  {
    MutexLock lock(mutex_);
    fetching_ = false;
    if (token.ok()) {
      token_ = *token;
      failure_ = Status::Ok();
    } else {
      Postpone(std::move(failure));
    }
    waiting.swap(waiting_);
  }
  for (const auto& signal : waiting) signal->Notify();
}

Result<TokenPtr> Authorizer::Fetch() {
  const WaitOptions wait{closing_, DeadlineAfter(kFetchTimeout)};
  AG_RETURN_IF_ERROR(FindServer(wait));
  auto token = std::make_shared<Token>();
  const Deadline obtained = options_.now();
  token->scopes = WantedScopes();
  TokenWish wish{.resource = resource_->id, .scopes = token->scopes, .refresh_token = {}};
  Result<TokenReply> reply =
      refresh_token_.empty() ? Ask(wish, wait) : AskWithRefreshToken(std::move(wish), wait);
  if (!reply.ok()) {
    server_.reset();  // look it up again: it may have moved
    return reply.status();
  }
  token->text = std::move(reply->access_token);
  if (reply->scopes) AddScopes(*reply->scopes, token->scopes);
  if (reply->lifetime) {
    const std::chrono::seconds lifetime = *reply->lifetime;
    token->expires_at = obtained + lifetime;
    token->renew_at = token->expires_at - std::min(lifetime / 5, kRenewBeforeMax);
  }
  MutexLock lock(mutex_);
  secrets_.push_back(token->text);
  if (!reply->refresh_token.empty()) secrets_.push_back(reply->refresh_token);
  while (secrets_.size() > kSecretsMax) secrets_.erase(secrets_.begin());
  return TokenPtr(std::move(token));
}

// Scopes that the server requires precede those that it supports. A refresh token implies its
// scopes.
std::vector<std::string> Authorizer::WantedScopes() {
  if (!options_.scopes.empty()) return options_.scopes;
  MutexLock lock(mutex_);
  if (!demanded_.empty() || !refresh_token_.empty()) return demanded_;
  return resource_->scopes;
}

Status Authorizer::FindServer(const WaitOptions& wait) {
  std::string metadata_url;
  {
    MutexLock lock(mutex_);
    metadata_url = metadata_url_;
    if (std::exchange(metadata_url_changed_, false)) server_.reset();
  }
  if (server_) return Status::Ok();
  if (!options_.token_endpoint.empty()) {
    server_ = AuthorizationServer{.issuer = options_.issuer,
                                  .token_endpoint = options_.token_endpoint,
                                  .methods = {},
                                  .algorithms = {}};
    resource_ = Resource{.id = ResourceId(options_.url), .issuers = {}, .scopes = {}};
    return Status::Ok();
  }
  Result<json> document = GetFirst(*http_, ResourceDocuments(options_.url, metadata_url), wait);
  if (document.ok()) {
    AG_ASSIGN_OR_RETURN(resource_, ReadResource(*document, options_.url));
  } else if (document.status().code() == StatusCode::kNotFound) {
    resource_ = Resource{.id = ResourceId(options_.url), .issuers = {}, .scopes = {}};
  } else {
    return document.status();
  }
  AG_ASSIGN_OR_RETURN(const std::string issuer, ChooseIssuer(document.ok()));
  AG_ASSIGN_OR_RETURN(server_, FindIssuer(issuer, wait));
  issuer_ = issuer;
  return Status::Ok();
}

Result<std::string> Authorizer::ChooseIssuer(bool server_names_some) const {
  if (!server_names_some) {
    // Default of servers that are older than this metadata.
    return issuer_.empty() ? OriginOf(options_.url) : issuer_;
  }
  const std::vector<std::string>& named = resource_->issuers;
  if (!issuer_.empty()) {
    if (std::find(named.begin(), named.end(), issuer_) != named.end()) return issuer_;
    return Unavailable("the server does not name " + issuer_ +
                       " any more, which the credentials are for");
  }
  for (const std::string& issuer : named) {
    if (IsConfidential(issuer) || SameOrigin(issuer, options_.url)) return issuer;
  }
  return Unavailable("the server names no authorization server that can be used");
}

Result<AuthorizationServer> Authorizer::FindIssuer(const std::string& issuer,
                                                   const WaitOptions& wait) const {
  const Result<json> document = GetFirst(*http_, IssuerDocuments(issuer), wait);
  if (document.ok()) return ReadIssuer(*document, issuer);
  if (document.status().code() != StatusCode::kNotFound) return document.status();
  return Unavailable("the authorization server has no metadata");
}

Result<TokenReply> Authorizer::Ask(const TokenWish& wish, const WaitOptions& wait) const {
  AG_ASSIGN_OR_RETURN(net::HttpRequest request,
                      MakeTokenRequest(*server_, options_.credentials, wish));
  request.once = true;  // a refresh token must not be sent twice: it may be valid only once
  AG_ASSIGN_OR_RETURN(const Document document, Call(*http_, std::move(request), wait));
  return ReadTokenReply(document.status, document.body);
}

// Servers may issue a new refresh token with each access token. If the newest one is refused, the
// configured one is tried again.
Result<TokenReply> Authorizer::AskWithRefreshToken(TokenWish wish, const WaitOptions& wait) {
  wish.refresh_token = refresh_token_;
  Result<TokenReply> reply = Ask(wish, wait);
  const std::string& configured = options_.credentials.refresh_token;
  if (reply.status().detail() == "invalid_grant" && refresh_token_ != configured) {
    wish.refresh_token = refresh_token_ = configured;
    reply = Ask(wish, wait);
  }
  if (reply.ok() && !reply->refresh_token.empty()) refresh_token_ = reply->refresh_token;
  return reply;
}

}  // namespace agent_graph::tools::mcp::oauth
