// Access tokens for an MCP server: fetched when the server requires one, cached, and renewed before
// they expire or when the server refuses them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "net/http_client.h"
#include "runtime/signal.h"
#include "tools/mcp/oauth/challenge.h"
#include "tools/mcp/oauth/metadata.h"
#include "tools/mcp/oauth/token_request.h"
#include "tools/mcp/protocol/client.h"

namespace agent_graph::tools::mcp::oauth {

// Immutable, except for `accepted`.
struct Token {
  std::string text;
  std::vector<std::string> scopes;  // the requested scopes
  Deadline renew_at = kNoDeadline;  // earlier than expires_at
  Deadline expires_at = kNoDeadline;
  mutable std::atomic<bool> accepted{false};  // the server has accepted the token at least once
};
using TokenPtr = std::shared_ptr<const Token>;

// Thread-safe. Functions that return a token suspend the calling fiber. Tokens are fetched on
// separate fibers, one at a time, so a caller that cancels does not affect the others. After a
// failure the next attempt is delayed, by up to a minute.
//
// Credentials are sent to one authorization server only: the configured one, or the first one that
// the MCP server has named since the worker started.
class Authorizer : public std::enable_shared_from_this<Authorizer> {
 public:
  struct Options {
    std::string url;  // the address of the MCP server
    Credentials credentials;
    std::vector<std::string> scopes;  // empty: those that the server requires
    std::string issuer;               // empty: the one that the server names
    std::string token_endpoint;       // empty: from the issuer's metadata
    // The clock for the lifetimes of tokens.
    std::function<Deadline()> now = [] { return MonotonicClock::now(); };
  };

  Authorizer(Options options, std::shared_ptr<const net::HttpClient> http);

  // Returns the token for a request; null if the server has not required one yet. Waits for a token
  // that is being fetched, unless there is one that has not expired. Errors: kCancelled,
  // kDeadlineExceeded, kUnavailable.
  Result<TokenPtr> Current(const WaitOptions& wait);
  // Returns a new token after the server has refused `refused` (null: the request had none) with
  // `challenge`. Returns kUnavailable if a new one would be refused, too.
  Result<TokenPtr> Another(const TokenPtr& refused, const Challenge& challenge,
                           const WaitOptions& wait);
  // Reports that the server has accepted `token`.
  void Accept(const TokenPtr& token);
  // Returns the tokens and credentials, which must not be shown.
  std::vector<std::string> secrets() const;
  // Ends background work soon.
  void Close();

 private:
  Result<TokenPtr> Wait(const TokenPtr& unwanted, const WaitOptions& wait);
  void Postpone(Status failure) AG_REQUIRES(mutex_);
  // Starts to fetch a token, unless that is in progress. False: the pause after a failure has not
  // ended.
  bool FetchIfDue() AG_REQUIRES(mutex_);
  Result<TokenPtr> Fetch();
  void Fetched(Result<TokenPtr> token);

  Status FindServer(const WaitOptions& wait);
  Result<std::string> ChooseIssuer(bool server_names_some) const;
  Result<AuthorizationServer> FindIssuer(const std::string& issuer, const WaitOptions& wait) const;
  Result<TokenReply> Ask(const TokenWish& wish, const WaitOptions& wait) const;
  Result<TokenReply> AskWithRefreshToken(TokenWish wish, const WaitOptions& wait);
  std::vector<std::string> WantedScopes();

  const Options options_;
  const std::shared_ptr<const net::HttpClient> http_;
  const runtime::Cancellation closing_;

  // Used by the fetching fiber only; there is one at a time.
  std::optional<AuthorizationServer> server_;
  std::optional<Resource> resource_;
  std::string issuer_;         // the one that has received the credentials
  std::string refresh_token_;  // the newest one

  mutable Mutex mutex_;
  bool needed_ AG_GUARDED_BY(mutex_) = false;  // the server wants tokens
  TokenPtr token_ AG_GUARDED_BY(mutex_);
  std::vector<std::string> secrets_ AG_GUARDED_BY(mutex_);   // tokens that were in use lately
  std::vector<std::string> demanded_ AG_GUARDED_BY(mutex_);  // scopes, by the server's challenges
  std::string metadata_url_ AG_GUARDED_BY(mutex_);           // stated by the server
  bool metadata_url_changed_ AG_GUARDED_BY(mutex_) = false;  // since the metadata was read
  bool fetching_ AG_GUARDED_BY(mutex_) = false;
  Status failure_ AG_GUARDED_BY(mutex_);  // why the last fetch, or its token, failed
  std::chrono::milliseconds pause_ AG_GUARDED_BY(mutex_){0};
  Deadline not_before_ AG_GUARDED_BY(mutex_) = Deadline::min();
  std::vector<std::shared_ptr<runtime::Signal>> waiting_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::tools::mcp::oauth
