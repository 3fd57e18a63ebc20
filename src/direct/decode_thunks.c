#include "direct/decode.h"
#include "xla_cpu/schema.h"

/* Sequences inside of sequences; the deepest of some 5000 real programs had 6. */
enum { MAX_DEPTH = 64 };
/* Kinds of thunks that one executable may have. */
enum { MAX_KINDS = 64 };

typedef struct decoder {
  cyxla__arena *arena;
  cyxla_thunk_count *counts;
  size_t kind_count;
  int depth; /* of the sequence at hand */
} decoder;

static int32_t read_sequence(decoder *decoder, cyxla__span message, cyxla__sequence *out_sequence,
                             cyxla_error *error);

/* A field of the message {value, is it set}. */
static int32_t read_optional(cyxla__span message, const char *name, bool *out_is_set,
                             uint64_t *out_value, cyxla_error *error) {
  const cyxla__member members[] = {
      {OPTIONAL_VALUE, .number = out_value},
      {OPTIONAL_IS_SET, .boolean = out_is_set},
      {0},
  };
  return cyxla__message_read(message, name, members, error);
}

static int32_t read_arrays(cyxla__arena *arena, cyxla__span message, uint32_t field,
                           cyxla__array *arrays, cyxla_error *error) {
  for (cyxla__span array; cyxla__message_next(&message, field, &array); ++arrays)
    TRY(cyxla__decode_array(arena, array, arrays, error));
  return CYXLA_OK;
}

/* The slices alone: kernels know the shapes. */
static int32_t read_shaped_slices(cyxla__span message, uint32_t field, cyxla__slice *slices,
                                  cyxla_error *error) {
  for (cyxla__span item; cyxla__message_next(&message, field, &item); ++slices) {
    cyxla__span slice = {0};
    const cyxla__member members[] = {{SHAPED_SLICE_SLICE, .bytes = &slice}, {0}};
    TRY(cyxla__message_read(item, "ShapedSliceProto", members, error));
    TRY(cyxla__decode_slice(slice, slices, error));
  }
  return CYXLA_OK;
}

/* ---- the kinds ---- */

static int32_t read_call(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                         cyxla_error *error) {
  cyxla__span sequence = {0};
  const cyxla__member members[] = {{CALL_SEQUENCE, .bytes = &sequence}, {0}};
  TRY(cyxla__message_read(message, "CallThunkProto", members, error));
  return read_sequence(decoder, sequence, &thunk->as.call.sequence, error);
}

static int32_t read_conditional(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                                cyxla_error *error) {
  cyxla__span index = {0};
  const cyxla__member members[] = {
      {CONDITIONAL_BRANCHES, .messages = &thunk->as.conditional.count},
      {CONDITIONAL_INDEX, .bytes = &index},
      {0},
  };
  TRY(cyxla__message_read(message, "ConditionalThunkProto", members, error));
  TRY(cyxla__decode_slice(index, &thunk->as.conditional.index, error));
  const size_t count = thunk->as.conditional.count;
  cyxla__sequence *branches = cyxla__arena_alloc(decoder->arena, count, sizeof *branches);
  thunk->as.conditional.branches = branches;
  if (!branches) return cyxla__fail_memory(error, count * sizeof *branches);
  for (cyxla__span branch; cyxla__message_next(&message, CONDITIONAL_BRANCHES, &branch); ++branches)
    TRY(read_sequence(decoder, branch, branches, error));
  return CYXLA_OK;
}

static int32_t read_while(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                          cyxla_error *error) {
  cyxla__span condition = {0}, body = {0}, trip_count = {0}, predicate = {0};
  const cyxla__member members[] = {
      {WHILE_CONDITION, .bytes = &condition},
      {WHILE_BODY, .bytes = &body},
      {WHILE_TRIP_COUNT, .bytes = &trip_count},
      {WHILE_PREDICATE, .bytes = &predicate},
      {0},
  };
  TRY(cyxla__message_read(message, "WhileThunkProto", members, error));
  TRY(read_optional(trip_count, "Int64Optional", &thunk->as.loop.trip_count_known,
                    &thunk->as.loop.trip_count, error));
  if (thunk->as.loop.trip_count > INT64_MAX) return cyxla__fail_message(error, "WhileThunkProto");
  TRY(cyxla__decode_slice(predicate, &thunk->as.loop.predicate, error));
  TRY(read_sequence(decoder, condition, &thunk->as.loop.condition, error));
  return read_sequence(decoder, body, &thunk->as.loop.body, error);
}

static int32_t read_workgroups(cyxla__span message, uint64_t counts[3], cyxla_error *error) {
  const cyxla__member members[] = {
      {WORKGROUPS_X, .number = &counts[0]},
      {WORKGROUPS_Y, .number = &counts[1]},
      {WORKGROUPS_Z, .number = &counts[2]},
      {0},
  };
  return cyxla__message_read(message, "NumWorkGroups", members, error);
}

static int32_t read_alignment(cyxla__span message, uint64_t *out_alignment, cyxla_error *error) {
  uint64_t value = 0;
  bool is_set = false;
  TRY(read_optional(message, "Int64Optional", &is_set, &value, error));
  if (is_set && !value) return cyxla__fail_message(error, "KernelThunkProto");
  *out_alignment = is_set ? value : 0;
  return CYXLA_OK;
}

static int32_t read_kernel(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                           cyxla_error *error) {
  cyxla__span workgroups = {0}, alignment = {0};
  size_t argument_count = 0, result_count = 0;
  const cyxla__member members[] = {
      {KERNEL_NAME, .bytes = &thunk->as.kernel.name},
      {KERNEL_WORKGROUPS, .bytes = &workgroups},
      {KERNEL_MIN_ALIGNMENT, .bytes = &alignment},
      {KERNEL_ARGUMENTS, .messages = &argument_count},
      {KERNEL_RESULTS, .messages = &result_count},
      {0},
  };
  TRY(cyxla__message_read(message, "KernelThunkProto", members, error));
  TRY(read_workgroups(workgroups, thunk->as.kernel.workgroups, error));
  TRY(read_alignment(alignment, &thunk->as.kernel.alignment, error));
  const size_t count = argument_count + result_count;
  cyxla__slice *buffers = cyxla__arena_alloc(decoder->arena, count, sizeof *buffers);
  if (!buffers) return cyxla__fail_memory(error, count * sizeof *buffers);
  thunk->as.kernel.buffers = buffers;
  thunk->as.kernel.count = count;
  thunk->as.kernel.argument_count = argument_count;
  TRY(read_shaped_slices(message, KERNEL_ARGUMENTS, buffers, error));
  return read_shaped_slices(message, KERNEL_RESULTS, buffers + argument_count, error);
}

static int32_t read_copy(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                         cyxla_error *error) {
  cyxla__span source = {0}, destination = {0};
  const cyxla__member members[] = {
      {COPY_SOURCE, .bytes = &source},
      {COPY_DESTINATION, .bytes = &destination},
      {0},
  };
  TRY(cyxla__message_read(message, "CopyThunkProto", members, error));
  TRY(cyxla__decode_array(decoder->arena, source, &thunk->as.copy.source, error));
  return cyxla__decode_array(decoder->arena, destination, &thunk->as.copy.destination, error);
}

/* Whether it replaces the comparator is for op_sort.h to tell. */
static int32_t read_direction(cyxla__span message, int32_t *out_direction, cyxla_error *error) {
  uint64_t value = 0;
  bool is_set = false;
  TRY(read_optional(message, "SortDirectionOptional", &is_set, &value, error));
  if (is_set && value != 1 && value != 2)
    return cyxla__fail_message(error, "SortDirectionOptional");
  *out_direction = is_set ? (int32_t)value : 0;
  return CYXLA_OK;
}

static int32_t read_sort(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                         cyxla_error *error) {
  uint64_t dimension = 0;
  cyxla__span direction = {0};
  const cyxla__member members[] = {
      {SORT_DIMENSION, .number = &dimension},
      {SORT_IS_STABLE, .boolean = &thunk->as.sort.stable},
      {SORT_DIRECTION, .bytes = &direction},
      {SORT_COMPARATOR, .bytes = &thunk->as.sort.comparator},
      {SORT_OPERANDS, .messages = &thunk->as.sort.count},
      {0},
  };
  TRY(cyxla__message_read(message, "SortThunkProto", members, error));
  if (dimension > INT32_MAX) return cyxla__fail_message(error, "SortThunkProto");
  thunk->as.sort.dimension = (int32_t)dimension;
  const size_t count = thunk->as.sort.count;
  TRY(read_direction(direction, &thunk->as.sort.direction, error));
  cyxla__array *operands = cyxla__arena_alloc(decoder->arena, count, sizeof *operands);
  thunk->as.sort.operands = operands;
  if (!operands) return cyxla__fail_memory(error, count * sizeof *operands);
  return read_arrays(decoder->arena, message, SORT_OPERANDS, operands, error);
}

static int32_t read_top_k(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                          cyxla_error *error) {
  (void)decoder;
  cyxla__span values = {0}, output = {0}, indices = {0};
  const cyxla__member members[] = {
      {TOP_K_BATCH_SIZE, .number = &thunk->as.top_k.batch_size},
      {TOP_K_INPUT_SIZE, .number = &thunk->as.top_k.input_size},
      {TOP_K_K, .number = &thunk->as.top_k.k},
      {TOP_K_VALUES, .bytes = &values},
      {TOP_K_OUTPUT, .bytes = &output},
      {TOP_K_INDICES, .bytes = &indices},
      {0},
  };
  TRY(cyxla__message_read(message, "TopKThunkProto", members, error));
  TRY(cyxla__decode_slice(values, &thunk->as.top_k.values, error));
  TRY(cyxla__decode_slice(output, &thunk->as.top_k.output, error));
  return cyxla__decode_slice(indices, &thunk->as.top_k.indices, error);
}

static int32_t read_rng_state(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                              cyxla_error *error) {
  (void)decoder;
  cyxla__span state = {0};
  const cyxla__member members[] = {
      {RNG_STATE_DELTA, .number = &thunk->as.rng_state.delta},
      {RNG_STATE_BUFFER, .bytes = &state},
      {0},
  };
  TRY(cyxla__message_read(message, "RngGetAndUpdateStateThunkProto", members, error));
  return cyxla__decode_slice(state, &thunk->as.rng_state.state, error);
}

static int32_t read_device_id(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                              cyxla_error *error) {
  (void)decoder;
  cyxla__span id = {0};
  const cyxla__member members[] = {{DEVICE_ID_BUFFER, .bytes = &id}, {0}};
  TRY(cyxla__message_read(message, "PartitionIdThunkProto or ReplicaIdThunkProto", members, error));
  return cyxla__decode_slice(id, &thunk->as.device_id.id, error);
}

static int32_t read_op_buffers(cyxla__arena *arena, cyxla__span message, cyxla__thunk *thunk,
                               cyxla_error *error) {
  size_t argument_count = 0, result_count = 0;
  const cyxla__member members[] = {
      {OP_BUFFERS_ARGUMENTS, .messages = &argument_count},
      {OP_BUFFERS_RESULTS, .messages = &result_count},
      {0},
  };
  TRY(cyxla__message_read(message, "OpBuffers", members, error));
  const size_t count = argument_count + result_count;
  cyxla__array *buffers = cyxla__arena_alloc(arena, count, sizeof *buffers);
  if (!buffers) return cyxla__fail_memory(error, count * sizeof *buffers);
  thunk->as.custom_call.buffers = buffers;
  thunk->as.custom_call.count = count;
  thunk->as.custom_call.argument_count = argument_count;
  TRY(read_arrays(arena, message, OP_BUFFERS_ARGUMENTS, buffers, error));
  return read_arrays(arena, message, OP_BUFFERS_RESULTS, buffers + argument_count, error);
}

static int32_t read_custom_call(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                                cyxla_error *error) {
  cyxla__span buffers = {0};
  const cyxla__member members[] = {
      {CUSTOM_CALL_API_VERSION, .number = &thunk->as.custom_call.api_version},
      {CUSTOM_CALL_TARGET, .bytes = &thunk->as.custom_call.target},
      {CUSTOM_CALL_CONFIG, .bytes = &thunk->as.custom_call.config},
      {CUSTOM_CALL_BUFFERS, .bytes = &buffers},
      {0},
  };
  TRY(cyxla__message_read(message, "CustomCallThunkProto", members, error));
  return read_op_buffers(decoder->arena, buffers, thunk, error);
}

/* The numbers of two fields that belong together in pairs. */
static int32_t read_pairs(cyxla__arena *arena, cyxla__span message, const uint32_t fields[2],
                          size_t count, const int64_t **out_left, const int64_t **out_right,
                          cyxla_error *error) {
  int64_t *left = cyxla__arena_alloc(arena, count, sizeof *left);
  int64_t *right = cyxla__arena_alloc(arena, count, sizeof *right);
  *out_left = left;
  *out_right = right;
  if (!left || !right) return cyxla__fail_memory(error, count * sizeof *left);
  TRY(cyxla__message_numbers(message, "DotDimensionNumbers", fields[0], left, error));
  return cyxla__message_numbers(message, "DotDimensionNumbers", fields[1], right, error);
}

static int32_t read_dot_dimensions(cyxla__arena *arena, cyxla__span message, cyxla__thunk *thunk,
                                   cyxla_error *error) {
  static const uint32_t contracting[] = {DOT_LEFT_CONTRACTING, DOT_RIGHT_CONTRACTING};
  static const uint32_t batch[] = {DOT_LEFT_BATCH, DOT_RIGHT_BATCH};
  size_t counts[4] = {0};
  const cyxla__member members[] = {
      {contracting[0], .numbers = &counts[0]},
      {contracting[1], .numbers = &counts[1]},
      {batch[0], .numbers = &counts[2]},
      {batch[1], .numbers = &counts[3]},
      {0},
  };
  TRY(cyxla__message_read(message, "DotDimensionNumbers", members, error));
  if (counts[0] != counts[1] || counts[2] != counts[3])
    return cyxla__fail_message(error, "DotDimensionNumbers");
  thunk->as.dot.contracting_count = counts[0];
  thunk->as.dot.batch_count = counts[2];
  TRY(read_pairs(arena, message, contracting, counts[0], &thunk->as.dot.left_contracting,
                 &thunk->as.dot.right_contracting, error));
  return read_pairs(arena, message, batch, counts[2], &thunk->as.dot.left_batch,
                    &thunk->as.dot.right_batch, error);
}

static int32_t read_dot(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                        cyxla_error *error) {
  cyxla__span dimensions = {0}, left = {0}, right = {0}, result = {0};
  const cyxla__member members[] = {
      {DOT_DIMENSIONS, .bytes = &dimensions},
      {DOT_LEFT, .bytes = &left},
      {DOT_RIGHT, .bytes = &right},
      {DOT_RESULT, .bytes = &result},
      {0},
  };
  TRY(cyxla__message_read(message, "DotThunkProto", members, error));
  TRY(read_dot_dimensions(decoder->arena, dimensions, thunk, error));
  TRY(cyxla__decode_array(decoder->arena, left, &thunk->as.dot.left, error));
  TRY(cyxla__decode_array(decoder->arena, right, &thunk->as.dot.right, error));
  return cyxla__decode_array(decoder->arena, result, &thunk->as.dot.result, error);
}

/* ---- any thunk ---- */

static const struct kind {
  uint32_t member;
  const char *name;
  cyxla__thunk_kind kind;
  int32_t (*read)(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                  cyxla_error *error); /* NULL: not supported */
} kinds[] = {
    {THUNK_KERNEL, "kernel", CYXLA__THUNK_KERNEL, read_kernel},
    {THUNK_COPY, "copy", CYXLA__THUNK_COPY, read_copy},
    {THUNK_CALL, "call", CYXLA__THUNK_CALL, read_call},
    {THUNK_CONDITIONAL, "conditional", CYXLA__THUNK_CONDITIONAL, read_conditional},
    {THUNK_WHILE, "while", CYXLA__THUNK_WHILE, read_while},
    {THUNK_SORT, "sort", CYXLA__THUNK_SORT, read_sort},
    {THUNK_TOP_K, "topk", CYXLA__THUNK_TOP_K, read_top_k},
    {THUNK_RNG_STATE, "rng-get-and-update-state", CYXLA__THUNK_RNG_STATE, read_rng_state},
    {THUNK_PARTITION_ID, "partition-id", CYXLA__THUNK_DEVICE_ID, read_device_id},
    {THUNK_REPLICA_ID, "replica-id", CYXLA__THUNK_DEVICE_ID, read_device_id},
    {THUNK_CUSTOM_CALL, "custom-call", CYXLA__THUNK_CUSTOM_CALL, read_custom_call},
    {THUNK_DOT, "dot", CYXLA__THUNK_DOT, read_dot},
    {THUNK_XNN_FUSION, "xnn-fusion", CYXLA__THUNK_UNSUPPORTED, NULL},
    {THUNK_YNN_FUSION, "ynn-fusion", CYXLA__THUNK_UNSUPPORTED, NULL},
    {THUNK_FFT, "fft", CYXLA__THUNK_UNSUPPORTED, NULL},
    {THUNK_CONVOLUTION, "convolution", CYXLA__THUNK_UNSUPPORTED, NULL},
    {THUNK_RNG_SEED, "rng-seed", CYXLA__THUNK_UNSUPPORTED, NULL},
    {THUNK_COLLECTIVE, "collective", CYXLA__THUNK_UNSUPPORTED, NULL},
    {THUNK_INFEED, "infeed", CYXLA__THUNK_UNSUPPORTED, NULL},
    {THUNK_OUTFEED, "outfeed", CYXLA__THUNK_UNSUPPORTED, NULL},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

/* What the member and the name say must agree: where XLA has renumbered its thunks, they don't.
 * NULL: neither is known. */
static int32_t find_kind(uint32_t member, cyxla__span name, const struct kind **out_kind,
                         cyxla_error *error) {
  *out_kind = NULL;
  for (size_t i = 0; i < KIND_COUNT; ++i) {
    const bool is_member = kinds[i].member == member, is_name = cyxla__span_is(name, kinds[i].name);
    if (is_member != is_name)
      return cyxla__fail(
          error, CYXLA_UNIMPLEMENTED,
          "the executable is of an unknown version of XLA: field %u of a thunk %s a %s",
          (unsigned)member, is_member ? "is not" : "is", kinds[i].name);
    if (!is_member) continue;
    *out_kind = &kinds[i];
    break;
  }
  return CYXLA_OK;
}

/* Finds the one member of a thunk that tells what it is. */
static int32_t find_member(cyxla__span message, cyxla__field *out_member, cyxla_error *error) {
  cyxla__field field;
  size_t count = 0;
  *out_member = (cyxla__field){0};
  while (cyxla__proto_next(&message, &field)) {
    if (field.number < THUNK_FIRST_MEMBER) continue;
    *out_member = field;
    ++count;
  }
  return count == 1 && out_member->is_bytes ? CYXLA_OK : cyxla__fail_message(error, "ThunkProto");
}

static int32_t add_kind(decoder *decoder, cyxla__span name, cyxla_error *error) {
  if (decoder->kind_count == MAX_KINDS)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "the executable has more than %d kinds of thunks", MAX_KINDS);
  char *text = cyxla__arena_alloc(decoder->arena, name.size + 1, 1);
  if (!text) return cyxla__fail_memory(error, name.size);
  memcpy(text, name.data, name.size);
  decoder->counts[decoder->kind_count++] = (cyxla_thunk_count){.kind = text, .count = 1};
  return CYXLA_OK;
}

static int32_t count_thunk(decoder *decoder, cyxla__span name, cyxla_error *error) {
  for (size_t i = 0; i < decoder->kind_count; ++i) {
    if (!cyxla__span_is(name, decoder->counts[i].kind)) continue;
    ++decoder->counts[i].count;
    return CYXLA_OK;
  }
  return add_kind(decoder, name, error);
}

static int32_t read_thunk(decoder *decoder, cyxla__span message, cyxla__thunk *thunk,
                          cyxla_error *error) {
  cyxla__span info = {0};
  cyxla__field member;
  const cyxla__member members[] = {
      {THUNK_KIND, .bytes = &thunk->kind_name},
      {THUNK_INFO, .bytes = &info},
      {0},
  };
  TRY(cyxla__message_read(message, "ThunkProto", members, error));
  const cyxla__member info_members[] = {{INFO_OP_NAME, .bytes = &thunk->op_name}, {0}};
  TRY(cyxla__message_read(info, "InfoProto", info_members, error));
  TRY(find_member(message, &member, error));
  const struct kind *kind;
  TRY(find_kind(member.number, thunk->kind_name, &kind, error));
  if (!thunk->kind_name.size) return cyxla__fail_message(error, "ThunkProto");
  TRY(count_thunk(decoder, thunk->kind_name, error));
  thunk->kind = kind ? kind->kind : CYXLA__THUNK_UNSUPPORTED;
  return kind && kind->read ? kind->read(decoder, member.bytes, thunk, error) : CYXLA_OK;
}

static int32_t read_sequence(decoder *decoder, cyxla__span message, cyxla__sequence *out_sequence,
                             cyxla_error *error) {
  size_t count = 0;
  const cyxla__member members[] = {{SEQUENCE_THUNKS, .messages = &count}, {0}};
  TRY(cyxla__message_read(message, "ThunkSequenceProto", members, error));
  if (!message.data) return cyxla__fail_message(error, "ThunkSequenceProto");
  if (++decoder->depth > MAX_DEPTH)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "thunks are nested more than %d deep",
                       MAX_DEPTH);
  cyxla__thunk *thunks = cyxla__arena_alloc(decoder->arena, count, sizeof *thunks);
  *out_sequence = (cyxla__sequence){thunks, count};
  if (!thunks) return cyxla__fail_memory(error, count * sizeof *thunks);
  for (cyxla__span thunk; cyxla__message_next(&message, SEQUENCE_THUNKS, &thunk); ++thunks)
    TRY(read_thunk(decoder, thunk, thunks, error));
  --decoder->depth;
  return CYXLA_OK;
}

int32_t cyxla__decode_thunks(cyxla__image *image, cyxla__span message, cyxla_error *error) {
  decoder state = {.arena = &image->arena};
  state.counts = cyxla__arena_alloc(state.arena, MAX_KINDS, sizeof *state.counts);
  if (!state.counts) return cyxla__fail_memory(error, MAX_KINDS * sizeof *state.counts);
  TRY(read_sequence(&state, message, &image->sequence, error));
  image->thunk_counts = state.counts;
  image->thunk_kind_count = state.kind_count;
  return CYXLA_OK;
}
