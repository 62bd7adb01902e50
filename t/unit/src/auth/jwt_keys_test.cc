// Keys for JSON Web Tokens: files, key sets, and keys that are too weak.
#include <gtest/gtest.h>
#include <openssl/param_build.h>
#include <unistd.h>

#include <fstream>

#include "auth/base64url.h"
#include "auth/jwt.h"
#include "jwt_fixture.h"
#include "tokens.h"

namespace agent_graph::auth {
namespace {

using testing::EcKey;
using testing::EdKey;
using testing::EncodeBase64Url;
using testing::HmacToken;
using testing::Key;
using testing::KeyToken;
using testing::PrivatePem;
using testing::PublicPem;
using testing::RsaKey;

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

constexpr char kOneSecret[] = "secret one, which is long enough for HS256";
constexpr char kTwoSecret[] = "secret two, which is long enough for HS256";

json SetEntry(const char* id, std::string_view secret) {
  return {{"kty", "oct"}, {"kid", id}, {"k", EncodeBase64Url(secret)}};
}

TEST_F(KeyFiles, AKeySetIsSearchedById) {
  json set = {{"keys",
               {SetEntry("one", kOneSecret),
                SetEntry("two", kTwoSecret),
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
  EXPECT_EQ(Verify(*verifier, token("one", kOneSecret)), TokenVerdict::kValid);
  EXPECT_EQ(Verify(*verifier, token("two", kTwoSecret)), TokenVerdict::kValid);
  EXPECT_EQ(Verify(*verifier, token("one", kTwoSecret)), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(*verifier, token("three", kOneSecret)), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(*verifier, token(nullptr, kTwoSecret)), TokenVerdict::kValid);
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

// RFC 7518, 3.2: a secret is at least as long as the hash.
TEST_F(KeySets, RefuseAShortSecret) {
  const std::pair<const char*, size_t> algorithms[] = {{"HS256", 32}, {"HS384", 48}, {"HS512", 64}};
  for (const auto& [algorithm, bytes] : algorithms) {
    EXPECT_EQ(Refusal(algorithm, SetEntry("one", std::string(bytes, 'x'))), "");
    const std::string needed =
        "is shorter than the " + std::to_string(bytes) + " bytes that " + algorithm + " needs";
    for (const size_t size : {size_t{1}, bytes - 1}) {
      const std::string refusal = Refusal(algorithm, SetEntry("one", std::string(size, 'x')));
      EXPECT_NE(refusal.find("key 0 of the set (kid \"one\") " + needed), std::string::npos)
          << refusal;
    }
  }
  json nameless = SetEntry("one", "xxx");
  nameless.erase("kid");
  EXPECT_NE(Refusal("HS256", nameless).find("key 0 of the set is shorter"), std::string::npos);
  EXPECT_NE(Refusal("HS256", SetEntry("one", "")).find("is empty"), std::string::npos);
}

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
  const json good = SetEntry("one", kOneSecret);
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

}  // namespace
}  // namespace agent_graph::auth
