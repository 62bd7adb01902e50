// The private key with which a client proves who it is (private_key_jwt, RFC 7523).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::tools::mcp::oauth {

// Immutable, thread-safe.
class SigningKey {
 public:
  ~SigningKey();

  // `pem` may have "\n" as two characters for its line ends. kInvalidArgument: no RSA key of 2048
  // bits or more, no key on P-256 or P-384, no Ed25519 key, or one with a passphrase.
  static Result<std::shared_ptr<const SigningKey>> FromPem(std::string_view pem);

  // The first of the key's algorithms ("RS256", "PS256"; "ES256"; …) that is in `accepted`; the
  // key's first one when that is empty. Empty: there is none.
  std::string AlgorithmFor(const std::vector<std::string>& accepted) const;
  // A signed JSON Web Token. Empty when OpenSSL fails.
  std::string SignedToken(const std::string& algorithm, const std::string& key_id,
                          const json& claims) const;

 private:
  struct Key;
  SigningKey(std::unique_ptr<Key> key, std::vector<std::string> algorithms);

  std::string Sign(std::string_view algorithm, std::string_view text) const;

  const std::unique_ptr<Key> key_;
  const std::vector<std::string> algorithms_;
};

using SigningKeyPtr = std::shared_ptr<const SigningKey>;

}  // namespace agent_graph::tools::mcp::oauth
