#include "auth/jwt.h"

#include <gtest/gtest.h>
#include <openssl/param_build.h>
#include <unistd.h>

#include <fstream>

#include "auth/base64url.h"
#include "tokens.h"

namespace agent_graph::auth {
namespace {

using testing::EcKey;
using testing::EdKey;
using testing::EncodeBase64Url;
using testing::Hmac;
using testing::HmacToken;
using testing::Key;
using testing::KeyToken;
using testing::PrivatePem;
using testing::PublicPem;
using testing::RsaKey;
using testing::SignedText;

constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";
constexpr double kNow = 1'700'000'000;

json Claims(const json& changes = json::object()) {
  json claims = {{"user_id", "alice"}, {"exp", kNow + 100}, {"team", "a"}};
  claims.update(changes);
  return claims;
}

JwtVerifier Verifier(const std::string& algorithm, const std::string& secret) {
  settings::JwtSettings options;
  options.algorithm = algorithm;
  options.secret = secret;
  Result<JwtVerifier> verifier = JwtVerifier::Create(options);
  EXPECT_TRUE(verifier.ok()) << verifier.status().ToString();
  return std::move(verifier).value();
}

TokenVerdict Verify(const JwtVerifier& verifier, const std::string& token) {
  json claims;
  return verifier.Verify(token, kNow, claims);
}

Status Refused(const std::string& algorithm, const std::string& secret) {
  settings::JwtSettings options;
  options.algorithm = algorithm;
  options.secret = secret;
  return JwtVerifier::Create(options).status();
}

TEST(Base64Url, HasOneSpellingPerValue) {
  EXPECT_EQ(DecodeBase64Url(""), "");
  EXPECT_EQ(DecodeBase64Url("Zg"), "f");
  EXPECT_EQ(DecodeBase64Url("Zm8"), "fo");
  EXPECT_EQ(DecodeBase64Url("Zm9v"), "foo");
  EXPECT_EQ(DecodeBase64Url("-_-_"), "\xfb\xff\xbf");
  for (const char* broken : {"Z", "Zg==", "Zm8=", "Zh", "Zm9", "+/+/", "Zm 8", "Zm9v\n", "Zm9v."}) {
    EXPECT_FALSE(DecodeBase64Url(broken).has_value()) << broken;
  }
  EXPECT_FALSE(DecodeBase64Url(std::string_view("Zg\0", 3)).has_value());
}

// RFC 7515, appendix A.1: its key, header and payload.
TEST(Jwt, VerifiesTheExampleOfTheStandard) {
  std::string key = *DecodeBase64Url(
      "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow");
  JwtKey verifier = JwtKey::FromSecret(*FindJwtAlgorithm("HS256"), key).value();
  std::string text =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ";
  std::string signature = *DecodeBase64Url("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
  EXPECT_TRUE(verifier.Verify(text, signature));
  EXPECT_FALSE(verifier.Verify(text + "x", signature));
  EXPECT_FALSE(verifier.Verify(text, signature.substr(1)));
  EXPECT_FALSE(verifier.Verify(text, ""));
}

// RFC 7515, appendix A.3.
TEST(Jwt, VerifiesTheEllipticExampleOfTheStandard) {
  const char* set = R"({"keys":[{"kty":"EC","crv":"P-256",
      "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})";
  auto keys = ReadJwks(*FindJwtAlgorithm("ES256"), set);
  ASSERT_TRUE(keys.ok()) << keys.status().ToString();
  std::string text =
      "eyJhbGciOiJFUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ";
  std::string signature = *DecodeBase64Url(
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  EXPECT_TRUE((*keys)[0].Verify(text, signature));
  EXPECT_FALSE((*keys)[0].Verify(text, signature + "x"));
  EXPECT_FALSE((*keys)[0].Verify(text, std::string(64, '\0')));
}

// RFC 8037, appendix A.4.
TEST(Jwt, VerifiesTheEdwardsExampleOfTheStandard) {
  const char* set = R"({"keys":[{"kty":"OKP","crv":"Ed25519",
      "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})";
  auto keys = ReadJwks(*FindJwtAlgorithm("EdDSA"), set);
  ASSERT_TRUE(keys.ok()) << keys.status().ToString();
  EXPECT_TRUE((*keys)[0].Verify(
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
      *DecodeBase64Url("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sV"
                       "vpAr_MuM0KAg")));
}

TEST(Jwt, GivesEveryClaimOfAValidToken) {
  json claims;
  std::string token = HmacToken(Claims({{"roles", {"admin"}}}), kSecret);
  ASSERT_EQ(Verifier("HS256", kSecret).Verify(token, kNow, claims), TokenVerdict::kValid);
  EXPECT_EQ(claims, Claims({{"roles", {"admin"}}}));
}

TEST(Jwt, VerifiesEveryAsymmetricAlgorithmWithItsOwnKeyOnly) {
  const std::map<std::string, Key> keys = {{"RSA", RsaKey()},
                                           {"P-256", EcKey("P-256")},
                                           {"P-384", EcKey("P-384")},
                                           {"P-521", EcKey("P-521")},
                                           {"Ed", EdKey()}};
  const std::map<std::string, std::string> algorithms = {
      {"RS256", "RSA"},   {"RS384", "RSA"}, {"RS512", "RSA"},   {"PS256", "RSA"},
      {"PS384", "RSA"},   {"PS512", "RSA"}, {"ES256", "P-256"}, {"ES384", "P-384"},
      {"ES512", "P-521"}, {"EdDSA", "Ed"}};
  for (const auto& [algorithm, type] : algorithms) {
    const Key& key = keys.at(type);
    JwtVerifier verifier = Verifier(algorithm, PublicPem(key));
    std::string token = KeyToken(algorithm, key, Claims());
    EXPECT_EQ(Verify(verifier, token), TokenVerdict::kValid) << algorithm;
    token[token.rfind('.') + 5] ^= 1;
    EXPECT_EQ(Verify(verifier, token), TokenVerdict::kInvalid) << algorithm;
    for (const auto& [other_type, other] : keys) {
      EXPECT_EQ(Refused(algorithm, PublicPem(other)).ok(), other_type == type)
          << algorithm << " " << other_type;
    }
    for (const auto& [other, other_type] : algorithms) {
      if (other == algorithm || other_type != type) continue;
      EXPECT_EQ(Verify(verifier, KeyToken(other, key, Claims())), TokenVerdict::kInvalid)
          << algorithm << " " << other;
    }
  }
}

TEST(Jwt, VerifiesEverySymmetricAlgorithm) {
  const std::map<std::string, const EVP_MD*> digests = {
      {"HS256", EVP_sha256()}, {"HS384", EVP_sha384()}, {"HS512", EVP_sha512()}};
  for (const auto& [algorithm, digest] : digests) {
    std::string text = SignedText({{"alg", algorithm}}, Claims());
    std::string token = text + "." + EncodeBase64Url(Hmac(digest, kSecret, text));
    EXPECT_EQ(Verify(Verifier(algorithm, kSecret), token), TokenVerdict::kValid);
    EXPECT_EQ(Verify(Verifier(algorithm, "another secret"), token), TokenVerdict::kInvalid);
  }
}

TEST(Jwt, TheHeaderNeverChoosesTheAlgorithm) {
  Key key = RsaKey();
  std::string pem = PublicPem(key);
  JwtVerifier verifier = Verifier("RS256", pem);
  // Signed with the public key, which is no secret.
  EXPECT_EQ(Verify(verifier, HmacToken(Claims(), pem)), TokenVerdict::kInvalid);
  for (const char* name : {"none", "None", "NONE", "", "HS256", "rs256"}) {
    std::string unsigned_token = SignedText({{"alg", name}}, Claims()) + ".";
    EXPECT_EQ(Verify(verifier, unsigned_token), TokenVerdict::kInvalid) << name;
    EXPECT_EQ(Verify(Verifier("HS256", kSecret), unsigned_token), TokenVerdict::kInvalid) << name;
  }
  EXPECT_EQ(FindJwtAlgorithm("none"), nullptr);
  EXPECT_FALSE(Refused("none", kSecret).ok());
}

TEST(Jwt, KeysFitTheirFamily) {
  Key key = RsaKey();
  EXPECT_FALSE(Refused("HS256", PublicPem(key)).ok());
  EXPECT_FALSE(Refused("HS256", "").ok());
  EXPECT_FALSE(Refused("RS256", kSecret).ok());
  EXPECT_FALSE(Refused("RS256", PublicPem(RsaKey(1024))).ok());
  EXPECT_FALSE(Refused("RS256", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----").ok());
  EXPECT_TRUE(Refused("RS256", PrivatePem(key)).ok());
  EXPECT_EQ(Refused("RS256", kSecret).message().find(kSecret), std::string::npos);
}

TEST(Jwt, AcceptsAPemOnOneLine) {
  Key key = EcKey("P-256");
  std::string line;
  for (char c : PublicPem(key)) line += c == '\n' ? std::string("\\n") : std::string(1, c);
  EXPECT_EQ(Verify(Verifier("ES256", line), KeyToken("ES256", key, Claims())),
            TokenVerdict::kValid);
}

struct ClaimCase {
  const char* name;
  json changes;
  TokenVerdict verdict;
};

TEST(Jwt, ChecksTheClaims) {
  JwtVerifier verifier = Verifier("HS256", kSecret);
  const ClaimCase cases[] = {
      {"expired by one second", {{"exp", kNow - 1}}, TokenVerdict::kExpired},
      {"expires now", {{"exp", kNow}}, TokenVerdict::kExpired},
      {"expires in a moment", {{"exp", kNow + 0.5}}, TokenVerdict::kValid},
      {"exp is a huge number", {{"exp", 1e300}}, TokenVerdict::kValid},
      {"exp is text", {{"exp", "1900000000"}}, TokenVerdict::kInvalid},
      {"exp is true", {{"exp", true}}, TokenVerdict::kInvalid},
      {"exp is null", {{"exp", nullptr}}, TokenVerdict::kInvalid},
      {"nbf within the leeway", {{"nbf", kNow + 59}}, TokenVerdict::kValid},
      {"nbf beyond it", {{"nbf", kNow + 61}}, TokenVerdict::kInvalid},
      {"nbf is text", {{"nbf", "0"}}, TokenVerdict::kInvalid},
      {"iat within the leeway", {{"iat", kNow + 59}}, TokenVerdict::kValid},
      {"iat beyond it", {{"iat", kNow + 61}}, TokenVerdict::kInvalid},
      {"user_id is a number", {{"user_id", 42}}, TokenVerdict::kValid},
      {"user_id is empty", {{"user_id", ""}}, TokenVerdict::kInvalid},
      {"user_id is blank", {{"user_id", "  "}}, TokenVerdict::kInvalid},
      {"user_id is null", {{"user_id", nullptr}}, TokenVerdict::kInvalid},
      {"user_id is an object", {{"user_id", json::object()}}, TokenVerdict::kInvalid},
      {"user_id is too long", {{"user_id", std::string(1025, 'a')}}, TokenVerdict::kInvalid},
  };
  for (const ClaimCase& test : cases) {
    EXPECT_EQ(Verify(verifier, HmacToken(Claims(test.changes), kSecret)), test.verdict)
        << test.name;
  }
  EXPECT_EQ(Verify(verifier, HmacToken({{"user_id", "a"}}, kSecret)), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, HmacToken({{"sub", "a"}, {"exp", kNow + 9}}, kSecret)),
            TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, HmacToken({{"sub", "a"}, {"exp", kNow - 9}}, "wrong")),
            TokenVerdict::kInvalid)
      << "a forged token is never merely expired";
  EXPECT_EQ(Verify(verifier, HmacToken(json::array(), kSecret)), TokenVerdict::kInvalid);
}

TEST(Jwt, RefusesBrokenTokens) {
  JwtVerifier verifier = Verifier("HS256", kSecret);
  std::string good = HmacToken(Claims(), kSecret);
  ASSERT_EQ(Verify(verifier, good), TokenVerdict::kValid);
  std::string payload = good.substr(0, good.rfind('.'));
  for (const std::string& token :
       {std::string(), std::string("."), std::string(".."), std::string("a.b.c"), good + ".",
        good + "=", " " + good, good + "\n", payload, payload + ".", "." + good,
        good.substr(0, good.size() - 1), std::string(kTokenBytesMax + 1, 'a')}) {
    EXPECT_EQ(Verify(verifier, token), TokenVerdict::kInvalid) << token.substr(0, 80);
  }
  auto with_header = [&](const json& header) { return HmacToken(Claims(), kSecret, header); };
  EXPECT_EQ(Verify(verifier, with_header({{"typ", "JWT"}})), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, with_header({{"alg", 5}})), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, with_header(json::array({"HS256"}))), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, with_header({{"alg", "HS256"}, {"crit", {"exp"}}})),
            TokenVerdict::kInvalid);
  // The last character of a signature has two unused bits.
  std::string twisted = good;
  char& last = twisted.back();
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  last = alphabet[alphabet.find(last) + 1];
  EXPECT_EQ(Verify(verifier, twisted), TokenVerdict::kInvalid);
}

TEST(Jwt, EveryChangedByteOfATokenIsNoticed) {
  JwtVerifier verifier = Verifier("HS256", kSecret);
  const std::string good = HmacToken(Claims(), kSecret);
  for (size_t i = 0; i < good.size(); ++i) {
    for (char replacement : {'A', 'z', '.', '='}) {
      std::string token = good;
      if (token[i] == replacement) continue;
      token[i] = replacement;
      EXPECT_NE(Verify(verifier, token), TokenVerdict::kValid) << i << replacement;
    }
  }
}

TEST(Jwt, ReportsThatItHasNoKeys) {
  EXPECT_EQ(Verify(JwtVerifier::WithoutKeys(), HmacToken(Claims(), kSecret)),
            TokenVerdict::kUnusableKey);
}

class KeyFiles : public ::testing::Test {
 protected:
  KeyFiles() : path_(::testing::TempDir() + "key" + std::to_string(getpid())) {}
  ~KeyFiles() override { unlink(path_.c_str()); }

  void Write(const std::string& text) { std::ofstream(path_) << text; }

  const std::string path_;
};

TEST_F(KeyFiles, APemFileBeatsTheSecret) {
  Key key = EdKey("ED448");
  Write(PublicPem(key));
  settings::JwtSettings options{"EdDSA", "unused", path_, ""};
  Result<JwtVerifier> verifier = JwtVerifier::Create(options);
  ASSERT_TRUE(verifier.ok()) << verifier.status().ToString();
  EXPECT_EQ(Verify(*verifier, KeyToken("EdDSA", key, Claims())), TokenVerdict::kValid);
}

TEST_F(KeyFiles, AMissingFileIsNamed) {
  settings::JwtSettings options{"EdDSA", "unused", path_, ""};
  EXPECT_EQ(JwtVerifier::Create(options).status().message(),
            "JWT_PUBLIC_KEY_FILE: " + path_ + " cannot be read");
  options = {"EdDSA", "unused", "", path_};
  EXPECT_EQ(JwtVerifier::Create(options).status().message(),
            "JWT_JWKS_FILE: " + path_ + " cannot be read");
}

TEST_F(KeyFiles, AProblemInAKeySetIsNamedByFileAndPlace) {
  const auto problem = [&](const std::string& text) {
    Write(text);
    settings::JwtSettings options{"HS256", "unused", "", path_};
    return JwtVerifier::Create(options).status().message();
  };
  EXPECT_EQ(problem("{\"keys\": [\n}"), "JWT_JWKS_FILE: " + path_ + ":2:1: not valid JSON");
  EXPECT_EQ(problem("{\"keys\": [],\n \"keys\": []}"),
            "JWT_JWKS_FILE: " + path_ + ":2:2: keys: is there twice");
  EXPECT_EQ(problem("[]"),
            "JWT_JWKS_FILE: " + path_ + ": is not a key set: it has no array \"keys\"");
}

json SetEntry(const char* id, std::string_view secret) {
  return {{"kty", "oct"}, {"kid", id}, {"k", EncodeBase64Url(secret)}};
}

TEST_F(KeyFiles, AKeySetIsSearchedById) {
  json set = {{"keys",
               {SetEntry("one", "secret one"),
                SetEntry("two", "secret two"),
                {{"kty", "RSA"}, {"n", "broken"}},
                {{"kty", "oct"}, {"use", "enc"}, {"k", "AAAA"}}}}};
  Write(set.dump());
  settings::JwtSettings options{"HS256", "unused", "", path_};
  Result<JwtVerifier> verifier = JwtVerifier::Create(options);
  ASSERT_TRUE(verifier.ok()) << verifier.status().ToString();
  auto token = [](const char* id, const char* secret) {
    json header = {{"alg", "HS256"}};
    if (id != nullptr) header["kid"] = id;
    return HmacToken(Claims(), secret, header);
  };
  EXPECT_EQ(Verify(*verifier, token("one", "secret one")), TokenVerdict::kValid);
  EXPECT_EQ(Verify(*verifier, token("two", "secret two")), TokenVerdict::kValid);
  EXPECT_EQ(Verify(*verifier, token("one", "secret two")), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(*verifier, token("three", "secret one")), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(*verifier, token(nullptr, "secret two")), TokenVerdict::kValid);
}

TEST_F(KeyFiles, AKeySetNeedsAKeyThatFits) {
  for (const char* text : {"{}", "[]", "{", R"({"keys":5})", R"({"keys":[]})",
                           R"({"keys":[{"kty":"oct","k":"AAAA"}]})",
                           R"({"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}]})"}) {
    Write(text);
    settings::JwtSettings options{"ES256", "unused", "", path_};
    EXPECT_FALSE(JwtVerifier::Create(options).ok()) << text;
  }
}

std::string NumberOf(const Key& key, const char* name) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key.get(), name, &number);
  std::string bytes(static_cast<size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  BN_free(number);
  return bytes;
}

json RsaEntry(const Key& key) {
  return {{"kty", "RSA"},
          {"n", EncodeBase64Url(NumberOf(key, "n"))},
          {"e", EncodeBase64Url(NumberOf(key, "e"))}};
}

class KeySets : public KeyFiles {
 protected:
  // Returns an empty text if it is accepted.
  std::string Refusal(const std::string& algorithm, const std::string& set) {
    Write(set);
    return std::string(JwtVerifier::Create({algorithm, "unused", "", path_}).status().message());
  }
  std::string Refusal(const std::string& algorithm, const json& entry) {
    return Refusal(algorithm, json{{"keys", {entry}}}.dump());
  }
};

TEST_F(KeySets, RefuseAWeakExponent) {
  const Key key = RsaKey();
  EXPECT_EQ(Refusal("RS256", RsaEntry(key)), "");
  const std::vector<std::string> weak = {
      "\1", "\2", "\4", std::string("\0", 1), "\1\1\xfe", "\x10", std::string("\0\0\1", 3)};
  for (const char* algorithm : {"RS256", "PS512"}) {
    for (const std::string& exponent : weak) {
      json entry = RsaEntry(key);
      entry["e"] = EncodeBase64Url(exponent);
      EXPECT_NE(Refusal(algorithm, entry).find("exponent e"), std::string::npos) << exponent;
    }
    json entry = RsaEntry(key);
    entry["e"] = EncodeBase64Url("\3");
    EXPECT_EQ(Refusal(algorithm, entry), "");
  }
  json entry = RsaEntry(key);
  std::string even = NumberOf(key, "n");
  even.back() = static_cast<char>(even.back() ^ 1);
  entry["n"] = EncodeBase64Url(even);
  EXPECT_NE(Refusal("RS256", entry).find("even n"), std::string::npos);
}

// Everybody can compute the private key to such a modulus.
TEST_F(KeySets, RefuseAModulusThatIsEasyToFactor) {
  const Key key = RsaKey();
  const auto owned = [](BIGNUM* number) {
    return std::unique_ptr<BIGNUM, decltype(&BN_free)>(number, BN_free);
  };
  const auto text = [](const BIGNUM* number) {
    std::string bytes(static_cast<size_t>(BN_num_bytes(number)), '\0');
    BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
    return EncodeBase64Url(bytes);
  };
  const auto arithmetic =
      std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)>(BN_CTX_new(), BN_CTX_free);
  const auto prime = owned(BN_new());
  ASSERT_EQ(BN_generate_prime_ex(prime.get(), 1025, 0, nullptr, nullptr, nullptr), 1);
  const auto square = owned(BN_new());
  ASSERT_EQ(BN_sqr(square.get(), prime.get(), arithmetic.get()), 1);
  const auto multiple = owned(BN_dup(square.get()));
  ASSERT_EQ(BN_mul_word(multiple.get(), 751), 1);
  const auto large_prime = owned(BN_new());
  ASSERT_EQ(BN_generate_prime_ex(large_prime.get(), 2048, 0, nullptr, nullptr, nullptr), 1);
  for (const BIGNUM* modulus : {square.get(), multiple.get(), large_prime.get()}) {
    json entry = RsaEntry(key);
    entry["n"] = text(modulus);
    EXPECT_NE(Refusal("RS256", entry).find("easy to factor"), std::string::npos);
  }
}

TEST_F(KeySets, RefuseAnExponentThatIsNotBelowTheModulus) {
  const Key key = RsaKey();
  json entry = RsaEntry(key);
  entry["e"] = entry["n"];
  EXPECT_NE(Refusal("RS256", entry).find("not below n"), std::string::npos);
}

// One weak key invalidates the whole set, so that the operator notices it.
TEST_F(KeySets, RefuseAWeakKeyBesideAGoodOne) {
  json weak = RsaEntry(RsaKey());
  weak["e"] = "AQ";
  const json set = {{"keys", {RsaEntry(RsaKey()), weak}}};
  EXPECT_NE(Refusal("RS256", set.dump()).find("key 1 of the set"), std::string::npos);
  weak["use"] = "enc";
  EXPECT_EQ(Refusal("RS256", json{{"keys", {RsaEntry(RsaKey()), weak}}}.dump()), "");
}

// The PEM of `key` with another exponent.
std::string PemWithExponent(const Key& key, const std::string& exponent) {
  const std::string modulus = NumberOf(key, "n");
  auto number = [](const std::string& bytes) {
    return BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                     static_cast<int>(bytes.size()), nullptr);
  };
  BIGNUM* n = number(modulus);
  BIGNUM* e = number(exponent);
  OSSL_PARAM_BLD* builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_BN(builder, "n", n);
  OSSL_PARAM_BLD_push_BN(builder, "e", e);
  OSSL_PARAM* parameters = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
  EVP_PKEY* made = nullptr;
  EVP_PKEY_fromdata_init(context);
  EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, parameters);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(builder);
  BN_free(n);
  BN_free(e);
  return PublicPem(testing::Own(made));
}

TEST(Jwt, RefusesAWeakExponentInAPem) {
  const Key key = RsaKey();
  EXPECT_TRUE(Refused("RS256", PemWithExponent(key, "\3")).ok());
  for (const char* exponent : {"\1", "\2", "\x10"}) {
    const Status status = Refused("RS256", PemWithExponent(key, exponent));
    EXPECT_NE(status.message().find("exponent e"), std::string::npos) << status.ToString();
  }
}

TEST_F(KeySets, RefusePointsOfSmallOrder) {
  auto entry = [](const char* curve, const std::string& point) {
    return json{{"kty", "OKP"}, {"crv", curve}, {"x", EncodeBase64Url(point)}};
  };
  for (auto [curve, bytes] : {std::pair{"Ed25519", 32}, std::pair{"Ed448", 57}}) {
    std::string zero(static_cast<size_t>(bytes), '\0');
    std::string one = zero;
    one[0] = 1;
    std::string negative = one;
    negative.back() = static_cast<char>(0x80);
    for (const std::string& point : {zero, one, negative}) {
      EXPECT_NE(Refusal("EdDSA", entry(curve, point)).find("small order"), std::string::npos)
          << curve;
    }
  }
  std::string minus_one(32, '\xff');
  minus_one[0] = '\xec';
  minus_one[31] = '\x7f';
  EXPECT_NE(Refusal("EdDSA", entry("Ed25519", minus_one)).find("small order"), std::string::npos);
}

TEST_F(KeySets, SkipKeysForOtherUses) {
  const json good = SetEntry("one", "secret one");
  const std::pair<const char*, json> unfit[] = {
      {"use", "enc"},
      {"use", 5},
      {"use", ""},
      {"use", {"sig"}},
      {"alg", "HS512"},
      {"alg", nullptr},
      {"kid", 7},
      {"key_ops", {"sign"}},
      {"key_ops", {"encrypt", "wrapKey"}},
      {"key_ops", json::array()},
      {"key_ops", "verify"},
      {"key_ops", nullptr},
      {"key_ops", json::parse(R"([["verify"]])")},
  };
  for (const auto& [name, value] : unfit) {
    json entry = good;
    entry[name] = value;
    EXPECT_NE(Refusal("HS256", entry).find("has no key for HS256"), std::string::npos)
        << entry.dump();
  }
  const std::pair<const char*, json> fit[] = {
      {"use", "sig"}, {"alg", "HS256"}, {"key_ops", {"verify"}}, {"key_ops", {"sign", "verify"}}};
  for (const auto& [name, value] : fit) {
    json entry = good;
    entry[name] = value;
    EXPECT_EQ(Refusal("HS256", entry), "") << entry.dump();
  }
}

TEST_F(KeySets, RefuseDuplicateMembers) {
  for (const char* text : {R"({"keys":[],"keys":[{"kty":"oct","k":"AAAA"}]})",
                           R"({"keys":[{"kty":"oct","k":"AAAA","k":"BBBB"}]})",
                           R"({"keys":[{"kty":"oct","k":"AAAA","use":"enc","use":"sig"}]})",
                           R"({"keys":[{"kty":"oct","k":"AAAA","x":{"a":1,"a":1}}]})"}) {
    EXPECT_NE(Refusal("HS256", std::string(text)).find("twice"), std::string::npos) << text;
  }
}

std::string TextToken(std::string_view header, std::string_view payload) {
  std::string text = EncodeBase64Url(header) + "." + EncodeBase64Url(payload);
  return text + "." + EncodeBase64Url(Hmac(EVP_sha256(), kSecret, text));
}

// Another program that checks the token may use the other one of two duplicate members.
TEST(Jwt, RefusesDuplicateMembers) {
  constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
  const std::string claims = R"("user_id":"a","exp":)" + std::to_string(kNow + 60);
  const JwtVerifier verifier = Verifier("HS256", kSecret);
  EXPECT_EQ(Verify(verifier, TextToken(kHeader, "{" + claims + "}")), TokenVerdict::kValid);
  for (const std::string& payload :
       {R"({"user_id":"b",)" + claims + "}", R"({"exp":1,)" + claims + "}",
        "{" + claims + R"(,"user_id":"a"})", "{" + claims + R"(,"x":1,"x":1})",
        "{" + claims + R"(,"x":{"role":"user","role":"admin"}})",
        "{" + claims + R"(,"x":[{"y":{"z":1,"z":2}}]})",
        "{" + claims + R"(,"user\u005fid":"b"})"}) {
    EXPECT_EQ(Verify(verifier, TextToken(kHeader, payload)), TokenVerdict::kInvalid) << payload;
  }
  for (const char* header :
       {R"({"alg":"none","alg":"HS256"})", R"({"alg":"HS256","alg":"HS256"})",
        R"({"alg":"HS256","kid":"a","kid":"b"})", R"({"alg":"HS256","jwk":{"kty":1,"kty":2}})"}) {
    EXPECT_EQ(Verify(verifier, TextToken(header, "{" + claims + "}")), TokenVerdict::kInvalid)
        << header;
  }
}

}  // namespace
}  // namespace agent_graph::auth
