#include "auth/jwt.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "agent_graph/json.h"
#include "auth/base64url.h"
#include "base/file_content.h"
#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/text_position.h"

namespace agent_graph::auth {
namespace {

// Duplicate names are refused at any depth (RFC 7515, 4 and RFC 7519, 4). Which of two claims is
// used depends on the parser, so another program might have checked the other one.
constexpr JsonLimits kTokenLimits = {.depth_max = 32, .values_max = 4096, .unique_keys = true};

Result<std::string> ReadKeyFile(const std::string& path, int descriptor) {
  FileDescriptor file;
  if (descriptor < 0) {
    file = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    descriptor = file.get();
  }
  if (descriptor < 0) return InvalidArgument(path + " cannot be read");
  Result<std::string> text = ReadFileContent(descriptor, kKeyFileBytesMax);
  return text.ok() ? text : InvalidArgument(path + " " + text.status().message());
}

// Prefixes the text of a failure with the variable: "JWT_SECRET_KEY: <reason>".
Result<std::vector<JwtKey>> OneKey(const char* variable, Result<JwtKey> key) {
  if (!key.ok()) return InvalidArgument(std::string(variable) + ": " + key.status().message());
  std::vector<JwtKey> keys;
  keys.push_back(*std::move(key));
  return keys;
}

Result<std::vector<JwtKey>> ReadKeys(const JwtAlgorithm& algorithm,
                                     const settings::JwtSettings& settings) {
  if (!settings.jwks_file.empty()) {
    Result<std::string> text = ReadKeyFile(settings.jwks_file, DescriptorOf(settings.key_copy));
    if (!text.ok()) return InvalidArgument("JWT_JWKS_FILE: " + text.status().message());
    Result<std::vector<JwtKey>> keys = ReadJwks(algorithm, *text);
    if (!keys.ok()) {
      return InvalidArgument("JWT_JWKS_FILE: " + FileProblem(settings.jwks_file, keys.status()));
    }
    return keys;
  }
  if (!settings.public_key_file.empty()) {
    Result<std::string> text =
        ReadKeyFile(settings.public_key_file, DescriptorOf(settings.key_copy));
    if (!text.ok()) return InvalidArgument("JWT_PUBLIC_KEY_FILE: " + text.status().message());
    return OneKey("JWT_PUBLIC_KEY_FILE", JwtKey::FromPem(algorithm, *text));
  }
  if (algorithm.family == JwtFamily::kHmac) {
    return OneKey("JWT_SECRET_KEY", JwtKey::FromSecret(algorithm, settings.secret));
  }
  return OneKey("JWT_SECRET_KEY", JwtKey::FromPem(algorithm, settings.secret));
}

// Decodes a JSON object; nullopt if `part` is not one.
std::optional<json> DecodeObject(std::string_view part) {
  std::optional<std::string> text = DecodeBase64Url(part);
  if (!text) return std::nullopt;
  Result<json> value = ParseJson(*text, kTokenLimits);
  if (!value.ok() || !value->is_object()) return std::nullopt;
  return *std::move(value);
}

// Checks an optional claim: false if it is present and not a number, or later than `latest`.
bool NotAfter(const json& claims, const char* name, double latest) {
  auto claim = claims.find(name);
  if (claim == claims.end()) return true;
  return claim->is_number() && claim->get<double>() <= latest;
}

struct Parts {
  std::string_view header;
  std::string_view payload;
  std::string_view signature;
  std::string_view signed_text;
};

std::optional<Parts> Split(std::string_view token) {
  size_t first = token.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  Parts parts{token.substr(0, first), token.substr(first + 1, second - first - 1),
              token.substr(second + 1), token.substr(0, second)};
  if (parts.signature.find('.') != std::string_view::npos) return std::nullopt;
  return parts;
}

}  // namespace

Result<JwtVerifier> JwtVerifier::Create(const settings::JwtSettings& settings) {
  JwtVerifier verifier;
  verifier.algorithm_ = FindJwtAlgorithm(settings.algorithm);
  if (verifier.algorithm_ == nullptr) {
    return InvalidArgument("JWT_ALGORITHM: is not supported");
  }
  AG_ASSIGN_OR_RETURN(verifier.keys_, ReadKeys(*verifier.algorithm_, settings));
  return verifier;
}

JwtVerifier JwtVerifier::WithoutKeys() {
  return JwtVerifier();
}

TokenVerdict JwtVerifier::Verify(std::string_view token, double now, json& claims) const {
  if (keys_.empty()) return TokenVerdict::kUnusableKey;
  if (token.size() > kTokenBytesMax) return TokenVerdict::kInvalid;
  std::optional<Parts> parts = Split(token);
  if (!parts) return TokenVerdict::kInvalid;
  std::optional<json> header = DecodeObject(parts->header);
  if (!header) return TokenVerdict::kInvalid;
  auto name = header->find("alg");
  if (name == header->end() || *name != algorithm_->name) return TokenVerdict::kInvalid;
  // `crit` lists extensions that the verifier must understand. We support none.
  if (header->contains("crit")) return TokenVerdict::kInvalid;
  auto key_id = header->find("kid");
  bool names_key = key_id != header->end() && key_id->is_string();
  std::optional<std::string> signature = DecodeBase64Url(parts->signature);
  if (!signature || !VerifySignature(names_key ? key_id->get<std::string>() : "",
                                     parts->signed_text, *signature)) {
    return TokenVerdict::kInvalid;
  }
  std::optional<json> payload = DecodeObject(parts->payload);
  if (!payload) return TokenVerdict::kInvalid;
  auto expiry = payload->find("exp");
  if (expiry == payload->end() || !expiry->is_number()) return TokenVerdict::kInvalid;
  if (expiry->get<double>() <= now) return TokenVerdict::kExpired;
  if (!NotAfter(*payload, "nbf", now + kClockLeewaySeconds) ||
      !NotAfter(*payload, "iat", now + kClockLeewaySeconds) || UserIdOf(*payload).empty()) {
    return TokenVerdict::kInvalid;
  }
  claims = *std::move(payload);
  return TokenVerdict::kValid;
}

// Selects keys of a set by id. If the token or a key has no id, tries the keys one after the other.
bool JwtVerifier::VerifySignature(const std::string& key_id, std::string_view signed_text,
                                  std::string_view signature) const {
  return std::ranges::any_of(keys_, [&](const JwtKey& key) {
    bool meant = key_id.empty() || key.id().empty() || key.id() == key_id;
    return meant && key.Verify(signed_text, signature);
  });
}

std::string UserIdOf(const json& user) {
  if (!user.is_object()) return "";
  auto id = user.find("user_id");
  if (id == user.end()) return "";
  if (id->is_number_integer()) return id->dump();
  if (!id->is_string()) return "";
  const std::string& text = id->get_ref<const std::string&>();
  bool usable = text.size() <= kUserIdBytesMax && text.find_first_not_of(" \t\r\n") != text.npos;
  return usable ? text : "";
}

}  // namespace agent_graph::auth
