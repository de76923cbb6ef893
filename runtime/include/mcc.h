/* The C API of the mcc runtime: open a plan file, make a session on a device, bind shapes, run.
 *
 * Rules that hold throughout:
 *  - Every function returns a status or a plain value; nothing throws, nothing aborts on bad input.
 *  - Creating functions set their handle even when they fail (unless memory is exhausted), so that
 *    mcc_plan_error / mcc_session_error can explain; every handle is released exactly once.
 *  - A plan may be shared by any number of sessions in any threads. One session is used by one
 *    thread at a time. The runtime keeps a plan alive as long as sessions use it.
 *  - Strings and arrays returned by queries belong to the handle that they were asked from.
 *  - Tensors are dense and row-major; 4- and 2-bit elements are packed, low bits first.
 * Running a plan runs the machine code inside it: open only plans that you trust.
 */
#ifndef MCC_H
#define MCC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MCC_API __attribute__((visibility("default")))
#else
#define MCC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Equal to the exit codes of the command line tool. */
typedef enum mcc_status {
  MCC_OK = 0,
  MCC_ERROR_MODEL = 1,       /* the plan file is damaged, foreign or too new */
  MCC_ERROR_USAGE = 2,       /* wrong arguments: shapes, sizes, names, options */
  MCC_ERROR_ENVIRONMENT = 3, /* driver, CPU features, memory, disk */
  MCC_ERROR_INTERNAL = 4     /* a bug in the runtime */
} mcc_status;

typedef enum mcc_dtype {
  MCC_F64 = 0, MCC_F32, MCC_F16, MCC_BF16,
  MCC_F8E4M3FN, MCC_F8E4M3FNUZ, MCC_F8E5M2, MCC_F8E5M2FNUZ, MCC_F4E2M1,
  MCC_I64, MCC_I32, MCC_I16, MCC_I8, MCC_I4, MCC_I2,
  MCC_U64, MCC_U32, MCC_U16, MCC_U8, MCC_U4, MCC_U2,
  MCC_BOOL, MCC_C64, MCC_C128
} mcc_dtype;

#define MCC_MAX_RANK 32

typedef struct mcc_plan mcc_plan;
typedef struct mcc_session mcc_session;

/* "0.1.0" */
MCC_API const char* mcc_version(void);
/* "f32", "i64", ...; NULL for an unknown value. */
MCC_API const char* mcc_dtype_name(mcc_dtype dtype);
/* Bits of one element; 0 for an unknown value. */
MCC_API int mcc_dtype_bits(mcc_dtype dtype);

/* ---- Plans ------------------------------------------------------------------------------- */

typedef struct mcc_plan_options {
  size_t struct_size;      /* sizeof(mcc_plan_options) */
  int skip_weights_digest; /* 1: trust the weights section without hashing it (faster open) */
} mcc_plan_options;

/* Maps the file and checks everything in it. `options` may be NULL. */
MCC_API mcc_status mcc_plan_open(const char* path, const mcc_plan_options* options,
                                 mcc_plan** plan);
MCC_API void mcc_plan_close(mcc_plan* plan);
/* What went wrong in mcc_plan_open, one sentence; "" when nothing did. */
MCC_API const char* mcc_plan_error(const mcc_plan* plan);

/* The whole manifest as JSON (docs/plan-format.md), with "file" (bytes, sections) added. */
MCC_API const char* mcc_plan_json(const mcc_plan* plan);
/* The model's name. */
MCC_API const char* mcc_plan_model_name(const mcc_plan* plan);

typedef struct mcc_tensor_info {
  const char* name;
  mcc_dtype dtype;
  int rank;
  /* Per axis: smallest and largest size (equal when fixed; maximum INT64_MAX when unbounded) and a
   * readable expression such as "batch" or "2 * time + 1". */
  const int64_t* minimum;
  const int64_t* maximum;
  const char* const* text;
} mcc_tensor_info;

MCC_API int mcc_plan_input_count(const mcc_plan* plan);
MCC_API int mcc_plan_output_count(const mcc_plan* plan);
/* MCC_ERROR_USAGE when the index is out of range. */
MCC_API mcc_status mcc_plan_input(const mcc_plan* plan, int index, mcc_tensor_info* info);
MCC_API mcc_status mcc_plan_output(const mcc_plan* plan, int index, mcc_tensor_info* info);

typedef struct mcc_shape {
  int rank;
  const int64_t* dims;
} mcc_shape;

typedef struct mcc_memory {
  int64_t arena_bytes;             /* activation memory, planned */
  int64_t arena_lower_bound_bytes; /* the largest sum of live bytes: no plan can be smaller */
  int64_t arena_sum_bytes;         /* all activations, without sharing */
  int64_t weights_bytes;
} mcc_memory;
/* What the plan needs at these input shapes (one per input), computed without a device. On failure
 * `error` (of `error_size` bytes, always terminated) explains; it may be NULL. Sizes that depend on
 * data make the arena unknown: its three numbers are then -1. */
MCC_API mcc_status mcc_plan_memory(const mcc_plan* plan, const mcc_shape* shapes, int count,
                                   mcc_memory* memory, char* error, size_t error_size);

/* ---- Devices ----------------------------------------------------------------------------- */

/* The device kinds of this runtime: 0 <= index < mcc_device_count(). */
MCC_API int mcc_device_count(void);
/* "host", "cuda". NULL when out of range. */
MCC_API const char* mcc_device_name(int index);
/* 1 when usable here. `text` (of `size` bytes, always terminated) gets what was found, or why the
 * device cannot be used. */
MCC_API int mcc_device_probe(int index, char* text, size_t size);

/* ---- Sessions ---------------------------------------------------------------------------- */

typedef struct mcc_session_options {
  size_t struct_size; /* sizeof(mcc_session_options) */
  const char* device; /* "auto" (NULL too), "host", "cuda", "cuda:1"... */
  int threads;        /* host: 0 = one per core that this process may use */
  int disable_replay; /* cuda: 1 launches kernel by kernel instead of replaying a CUDA graph */
} mcc_session_options;

MCC_API mcc_status mcc_session_create(mcc_plan* plan, const mcc_session_options* options,
                                      mcc_session** session);
MCC_API void mcc_session_destroy(mcc_session* session);
MCC_API const char* mcc_session_error(const mcc_session* session);
/* What the session runs on: "host x86-64-v4, 2 threads". */
MCC_API const char* mcc_session_device(const mcc_session* session);
/* The plan target in use: "x86-64-v4", "sm_90". */
MCC_API const char* mcc_session_target(const mcc_session* session);

/* Fixes the input shapes, one per input in order; sizes everything and reserves memory. Shapes
 * seen before are cheap. Required before the first run unless all shapes are fixed. */
MCC_API mcc_status mcc_session_bind(mcc_session* session, const mcc_shape* shapes, int count);
/* The bound shape of an output. `dims` has room for MCC_MAX_RANK entries. */
MCC_API mcc_status mcc_session_output_shape(const mcc_session* session, int index, int64_t* dims,
                                            int* rank);
/* Activation memory of the current binding: planned bytes, and the largest sum of live bytes. */
MCC_API mcc_status mcc_session_arena(const mcc_session* session, int64_t* bytes,
                                     int64_t* lower_bound_bytes);

typedef struct mcc_input {
  const void* data;
  size_t bytes; /* exactly the bound size */
} mcc_input;
typedef struct mcc_output {
  void* data;
  size_t bytes; /* at least the bound size */
} mcc_output;

/* Runs once on host memory: copies in, computes, copies out, and waits. 64-byte aligned memory
 * saves a copy on the host device. Inputs and outputs must not overlap. */
MCC_API mcc_status mcc_session_run(mcc_session* session, const mcc_input* inputs, int input_count,
                                   const mcc_output* outputs, int output_count);

/* Outputs whose size depends on data: mcc_session_output_shape gives -1 for their unknown axes until
 * a run has finished; mcc_session_run accepts {NULL, 0} for them, and this copies the result of
 * the last run. */
MCC_API mcc_status mcc_session_read_output(const mcc_session* session, int index, void* data,
                                           size_t bytes);

typedef struct mcc_timings {
  double load_ms;      /* open device, load code, place weights */
  double bind_ms;      /* last bind */
  double first_run_ms; /* 0 before the first run */
  double last_run_ms;  /* wall time of the last run */
  double last_device_ms; /* the part spent in the program on the device, without copies */
} mcc_timings;
MCC_API mcc_status mcc_session_timings(const mcc_session* session, mcc_timings* timings);

typedef struct mcc_bench_options {
  size_t struct_size;
  int warmup;          /* runs not counted; default 3 when negative */
  double duration_s;   /* at least this long, and */
  int64_t iterations;  /* at least this many runs; with duration_s 0 exactly this many */
} mcc_bench_options;
typedef struct mcc_bench_result {
  int64_t iterations;
  double minimum_ms, mean_ms, median_ms, p90_ms, p95_ms, p99_ms;
  double device_median_ms; /* without copies between host and device */
  double throughput_per_s;
} mcc_bench_result;
/* Repeats mcc_session_run on the same memory. */
MCC_API mcc_status mcc_session_bench(mcc_session* session, const mcc_input* inputs,
                                     int input_count, const mcc_output* outputs, int output_count,
                                     const mcc_bench_options* options, mcc_bench_result* result);

/* Called after each instruction of the program for each buffer that it wrote, with a copy of its
 * contents. Slows a run down; replay is off meanwhile. Return non-zero to stop observing the rest of this run. */
typedef struct mcc_observation {
  int instruction;    /* index into the program */
  const char* kernel; /* "k12"; NULL for copies */
  int buffer;         /* index into the manifest's buffers */
  int ordinal;        /* which of the instruction's written buffers */
  const char* name;   /* the model's tensor name, or "" */
  mcc_dtype dtype;
  int rank;           /* -1 when the plan records no shape */
  const int64_t* dims;
  const void* data;
  size_t bytes;
} mcc_observation;
typedef int (*mcc_observer)(const mcc_observation* observation, void* user);
/* NULL removes it. */
MCC_API mcc_status mcc_session_observe(mcc_session* session, mcc_observer observer, void* user);

typedef struct mcc_kernel_time {
  const char* kernel;
  int instruction;
  double milliseconds;
} mcc_kernel_time;
/* Runs once with a timer around every instruction; `times` has room for `capacity` entries and
 * `count` gets the number of instructions. */
MCC_API mcc_status mcc_session_profile(mcc_session* session, const mcc_input* inputs,
                                       int input_count, const mcc_output* outputs,
                                       int output_count, mcc_kernel_time* times, int capacity,
                                       int* count);

/* What the device counted in the last run: a JSON array with one object per launch (docs/cli.md,
 * `mcc profile`). Empty for devices that count nothing. The text lives until the next call. */
MCC_API mcc_status mcc_session_report(mcc_session* session, const char** json);

#ifdef __cplusplus
}
#endif

#endif /* MCC_H */
