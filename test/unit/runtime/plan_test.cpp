// Plan files: writing, reading back, every kind of damage, full disks.
#include "runtime/plan/plan.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <random>

#include "runtime/plan/manifest_check.h"
#include "runtime/plan/manifest_json.h"
#include "runtime/plan/writer.h"
#include "runtime/support/error.h"
#include "test/unit/runtime/sample_manifest.h"
#include "test/unit/runtime/test_files.h"

namespace mcc::runtime {
namespace {

using test::TemporaryDirectory;

void write_sample(const std::string& path, Manifest manifest = test::sample_manifest(),
                  size_t weights_bytes = 5000) {
  TargetInfo target;
  target.name = "x86-64-v3";
  target.isa = "x86-64-v3";
  target.sections = {2};
  for (const char* name : {"k0", "k1"}) {
    KernelResources resources;
    resources.name = name;
    target.kernels.push_back(resources);
  }
  manifest.targets = {target};
  PlanWriter writer(path);
  EXPECT_EQ(writer.add_section(SectionKind::manifest, write_manifest(manifest)), 1u);
  EXPECT_EQ(writer.add_section(SectionKind::image, "image bytes"), 2u);
  writer.begin_section(SectionKind::weights, kWeightsAlignment);
  const std::string weights(weights_bytes, 'w');
  writer.append(weights.data(), 100);
  EXPECT_EQ(writer.pad_section(64), 128u);
  writer.append(weights.data(), weights.size());
  writer.finish();
}

std::string failure(const std::string& path) {
  try {
    Plan::open(path);
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
    return error.what();
  }
  return "";
}

TEST(Hash, MatchesThePublishedVectors) {
  // From the xxHash specification's reference implementation.
  EXPECT_EQ(xxh64("", 0), 0xEF46DB3751D8E999ULL);
  EXPECT_EQ(xxh64("a", 1), 0xD24EC4F1A98C6E5BULL);
  EXPECT_EQ(xxh64("abc", 3), 0x44BC2CF5AD770999ULL);
  const std::string text = "Nobody inspects the spammish repetition";
  EXPECT_EQ(xxh64(text.data(), text.size()), 0xFBCEA83C8A378BF1ULL);
}

TEST(Hash, ChunkedDigestDoesNotDependOnPiecesOrThreads) {
  std::string data(3 * kDigestChunk + 12345, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 31 >> 3);
  ChunkedDigest digest;
  for (size_t at = 0; at < data.size();) {
    const size_t count = std::min<size_t>(data.size() - at, 1 + at % 700001);
    digest.append(data.data() + at, count);
    at += count;
  }
  const uint64_t expected = digest.finish();
  EXPECT_EQ(chunked_digest(data.data(), data.size()), expected);
  EXPECT_EQ(chunked_digest(data.data(), data.size(), 4), expected);
  data.back() ^= 1;
  EXPECT_NE(chunked_digest(data.data(), data.size()), expected);
}

TEST(Plan, RoundTrip) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("plan.bin");
  write_sample(path);
  const auto plan = Plan::open(path);
  EXPECT_EQ(plan->manifest().model_name, "sample");
  EXPECT_EQ(plan->weights().size(), 5128u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(plan->weights().data()) % 4096, 0u);
  const auto image = plan->image(plan->manifest().targets[0], 0);
  EXPECT_EQ(std::memcmp(image.data(), "image bytes", image.size()), 0);
  // Parsing what was written and writing it again gives the same text.
  EXPECT_EQ(write_manifest(plan->manifest()), plan->manifest_text());
}

TEST(Plan, TwoWritesGiveTheSameBytes) {
  const TemporaryDirectory directory;
  write_sample(directory.file("a"));
  write_sample(directory.file("b"));
  EXPECT_EQ(test::read_file(directory.file("a")), test::read_file(directory.file("b")));
}

TEST(Plan, NamesWhatIsNoPlan) {
  const TemporaryDirectory directory;
  EXPECT_NE(failure(directory.file("absent")).find("No such file"), std::string::npos);
  EXPECT_NE(failure(directory.path().string()).find("directory"), std::string::npos);
  test::write_file(directory.file("empty"), "");
  EXPECT_NE(failure(directory.file("empty")).find("not an mcc plan"), std::string::npos);
  test::write_file(directory.file("text"), std::string(500, 'x'));
  EXPECT_NE(failure(directory.file("text")).find("not an mcc plan"), std::string::npos);
}

TEST(Plan, RefusesANewerFormat) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("plan.bin");
  write_sample(path);
  std::string bytes = test::read_file(path);
  PlanHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.version = 99;
  std::memcpy(bytes.data(), &header, sizeof header);
  test::write_file(path, bytes);
  EXPECT_NE(failure(path).find("newer"), std::string::npos);
}

TEST(Plan, EveryTruncationIsReported) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("plan.bin");
  write_sample(path);
  const std::string bytes = test::read_file(path);
  for (size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 97) {
    const auto span = std::as_bytes(std::span(bytes.data(), size));
    EXPECT_THROW(Plan::from_memory(span, "cut"), Error) << size;
  }
  const std::string longer = bytes + "x";
  EXPECT_THROW(Plan::from_memory(std::as_bytes(std::span(longer)), "long"), Error);
}

TEST(Plan, EveryBitFlipIsReported) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("plan.bin");
  write_sample(path);
  std::string bytes = test::read_file(path);
  std::mt19937 random(1);
  for (size_t at = 0; at < bytes.size(); ++at) {
    const char mask = static_cast<char>(1 << (random() % 8));
    bytes[at] ^= mask;
    EXPECT_THROW(Plan::from_memory(std::as_bytes(std::span(bytes)), "flipped"), Error) << at;
    bytes[at] ^= mask;
  }
}

TEST(Plan, WeightsDigestCanBeSkipped) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("plan.bin");
  write_sample(path);
  std::string bytes = test::read_file(path);
  bytes[bytes.find("wwwwwww") + 3000] ^= 1;
  test::write_file(path, bytes);
  EXPECT_THROW(Plan::open(path), Error);
  PlanOptions options;
  options.verify_weights = false;
  EXPECT_NO_THROW(Plan::open(path, options));
}

// Damage that keeps all checksums right: the manifest itself must be refused or be sound.
TEST(Plan, MutatedManifestsNeverCrash) {
  const std::string text = write_manifest(test::sample_manifest());
  int refused = 0;
  int rounds = 0;
  const auto attempt = [&](const std::string& mutated) {
    ++rounds;
    try {
      check_manifest(parse_manifest(mutated), 5000);
    } catch (const Error&) {
      ++refused;
    }
  };
  for (size_t size = 0; size < text.size(); size += 3) attempt(text.substr(0, size));
  std::mt19937 random(7);
  const std::string alphabet = "0123456789-[]{},:\"esk \\";
  for (int i = 0; i < 20000; ++i) {
    std::string mutated = text;
    for (unsigned n = random() % 3 + 1; n > 0; --n) {
      const size_t at = random() % mutated.size();
      switch (random() % 3) {
        case 0: mutated[at] = alphabet[random() % alphabet.size()]; break;
        case 1: mutated.erase(at, random() % 8 + 1); break;
        default: mutated.insert(at, 1, alphabet[random() % alphabet.size()]); break;
      }
    }
    attempt(mutated);
  }
  EXPECT_GT(refused, rounds / 2);
}

void expect_refused(Manifest manifest, const std::string& reason) {
  try {
    check_manifest(parse_manifest(write_manifest(manifest)), 5000);
    ADD_FAILURE() << "accepted although: " << reason;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(Manifest, ChecksItsPartsAgainstEachOther) {
  const auto changed = [](auto change) {
    Manifest manifest = test::sample_manifest();
    change(manifest);
    return manifest;
  };
  EXPECT_NO_THROW(check_manifest(test::sample_manifest(), 5000));
  expect_refused(changed([](Manifest& m) { m.buffers[1].offset = 4992; }), "outside");
  expect_refused(changed([](Manifest& m) { m.buffers[1].offset = 32; }), "multiple of 64");
  expect_refused(changed([](Manifest& m) { m.buffers[0].kind = BufferKind::arena; }),
                 "exactly one buffer");
  expect_refused(changed([](Manifest& m) { m.program[0].buffers = {0, 2, 1}; }), "writes");
  expect_refused(changed([](Manifest& m) { m.program[1].kernel = 0; m.program[1].dims = {}; }),
                 "other parameters");
  expect_refused(changed([](Manifest& m) { m.buffers[2].last = 0; }), "lifetime");
  expect_refused(changed([](Manifest& m) { m.kernels[1].name = "k0"; }), "used twice");
  expect_refused(changed([](Manifest& m) { m.kernels[1].name = "k-0;"; }), "identifier");
  expect_refused(changed([](Manifest& m) { m.kernels[0].outputs = 9; }), "fewer buffers");
  expect_refused(changed([](Manifest& m) { m.buffers[2].inplace_of = 0; }), "in-place");
  expect_refused(changed([](Manifest& m) {
                   m.symbols[0].source.kind = SymbolSource::Kind::expression;
                   m.symbols[0].source.expression = Expression::symbol(0);
                 }),
                 "defined later");
}

TEST(Manifest, StaticArenasMustNotOverlap) {
  Manifest manifest = test::sample_manifest();
  manifest.symbols.clear();
  manifest.inputs[0].shape = manifest.outputs[0].shape = {4, 16};
  for (BufferInfo& buffer : manifest.buffers) {
    buffer.bytes = buffer.kind == BufferKind::weight ? 64 : 256;
    buffer.shape.clear();
  }
  for (KernelInfo& kernel : manifest.kernels) {
    kernel.host = HostLaunch{64, 16, 0};
    kernel.cuda = CudaLaunch{};
  }
  for (Instruction& instruction : manifest.program) instruction.dims.clear();
  manifest.arena = {true, 512, 256, 256};
  manifest.buffers[2].offset = 256;
  EXPECT_NO_THROW(check_manifest(parse_manifest(write_manifest(manifest)), 64));
  manifest.buffers[2].offset = 320;
  expect_refused(manifest, "outside");
  // A second arena buffer that lives at the same time.
  manifest.buffers[2].offset = 0;
  BufferInfo other = manifest.buffers[2];
  other.offset = 192;
  manifest.buffers.push_back(other);
  manifest.program[0].buffers = {0, 1, 2, 4};
  manifest.program[1].buffers = {2, 4, 0, 3};
  derive_lifetimes(manifest);
  expect_refused(manifest, "overlaps");
  manifest.buffers[4].offset = 256;
  EXPECT_NO_THROW(check_manifest(parse_manifest(write_manifest(manifest)), 64));
}

TEST(PlanWriter, ReportsAFullDiskAndLeavesNothing) {
  const TemporaryDirectory directory;
  // A file size limit stands in for a full disk: write fails with EFBIG.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit previous{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &previous), 0);
  rlimit limited = previous;
  limited.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  try {
    write_sample(directory.file("plan.bin"), test::sample_manifest(), 100000);
    ADD_FAILURE() << "the write succeeded";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::environment);
    EXPECT_NE(std::string(error.what()).find("plan.bin"), std::string::npos);
  }
  ::setrlimit(RLIMIT_FSIZE, &previous);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(PlanWriter, AnAbandonedWriteKeepsTheOldFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("plan.bin");
  test::write_file(path, "old");
  {
    PlanWriter writer(path);
    writer.add_section(SectionKind::manifest, "{}");
  }
  EXPECT_EQ(test::read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
  EXPECT_THROW(PlanWriter("/nonexistent-directory/plan.bin"), Error);
}

}  // namespace
}  // namespace mcc::runtime
