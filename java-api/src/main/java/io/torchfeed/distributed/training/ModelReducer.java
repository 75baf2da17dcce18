// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.GradientReducer;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.bindings.ReducerOptions;
import io.torchfeed.bindings.ReducerState;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.PythonProcessGroup;
import io.torchfeed.distributed.averaging.Nodes;
import io.torchfeed.distributed.rendezvous.GroupCore;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.trace.ring.GroupLog;
import io.torchfeed.trace.ring.GroupSpan;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * The native reducer of a wrapped module: how it is created, how its failures become public
 * exceptions, and the state that a restart needs. Not thread-safe.
 */
final class ModelReducer {
  private static final String KIND = "DistributedDataParallel";
  private static final String EXCHANGE = "exchange.";

  private final NativeHandle<GradientReducer> handle;
  private final Module module;
  private final DataParallelOptions options;
  private GroupCore group;
  private GroupLog log;
  private long base; // the reductions before this group

  private ModelReducer(
      NativeHandle<GradientReducer> handle,
      GroupCore group,
      Module module,
      DataParallelOptions options) {
    this.handle = handle;
    this.group = group;
    this.module = module;
    this.options = options;
    log = group.log().ofReducer();
  }

  /** Creates the reducer of a module, which is borrowed, as is the group. */
  static ModelReducer of(Module module, ProcessGroup group, DataParallelOptions options) {
    NativeExchange.requireFits(options.exchange(), group.size());
    ModelReducer reducer = of(module, GroupCore.OF_GROUP.of(group), options);
    try {
      reducer.connectExchange(group);
      return reducer;
    } catch (RuntimeException | Error e) {
      reducer.handle.close();
      throw e;
    }
  }

  /** Like {@link #of}, for gradients that Python's ranks average, too. */
  static ModelReducer ofPython(
      Module module, PythonProcessGroup group, DataParallelOptions options) {
    if (!options.exchange().equals(GradientExchange.allReduce())) {
      throw new IllegalArgumentException(
          "with Python ranks, gradients are averaged by all-reduce only, got "
              + options.exchange());
    }
    return of(module, GroupCore.OF_PYTHON_GROUP.of(group), options);
  }

  private static ModelReducer of(Module module, GroupCore group, DataParallelOptions options) {
    try (PointerScope scope = new PointerScope()) {
      ModuleTensors.requireNames(module, options.ignored());
      ModuleTensors parameters = ModuleTensors.parameters(module, options.ignored());
      ModuleTensors buffers = ModuleTensors.buffers(module, options.ignored());
      ReducerOptions nativeOptions = options.toNative(module);
      NativeHandle<GradientReducer> handle =
          group.make(
              "wrap",
              nativeGroup ->
                  NativeHandle.create(
                      "DistributedDataParallel",
                      () ->
                          GradientReducer.create(
                              nativeGroup,
                              ModuleTensors.lines(parameters.names()),
                              parameters.tensors(),
                              ModuleTensors.lines(buffers.names()),
                              buffers.tensors(),
                              nativeOptions)));
      return new ModelReducer(handle, group, module, options);
    }
  }

  /** See {@link DistributedDataParallel#rebind}. */
  void rebind(ProcessGroup next) {
    NativeExchange.requireFits(options.exchange(), next.size());
    GroupCore core = GroupCore.OF_GROUP.of(next);
    core.make(
        "rebind",
        nativeGroup -> {
          handle.run(reducer -> reducer.rebind(nativeGroup));
          return true;
        });
    group = core;
    log = core.log().ofReducer();
    base = handle.call(GradientReducer::reductions);
    connectExchange(next);
  }

  /** Connects the exchange of gradients, if it needs groups of its own. */
  private void connectExchange(ProcessGroup group) {
    if (!handle.call(GradientReducer::needs_exchange_group)) {
      return;
    }
    int[] all = IntStream.range(0, group.size()).toArray();
    try (ProcessGroup own = group.subgroup(all); // the reducer keeps the native groups
        Nodes nodes = Nodes.of(group, options.exchange().ranksPerNode())) {
      withNative(own, ranks -> connectExchange(ranks, nodes));
    }
  }

  private void connectExchange(NativeProcessGroup all, Nodes nodes) {
    ProcessGroup node = nodes.node();
    if (node == null) {
      handle.run(reducer -> reducer.exchange_over(all));
    } else {
      withNative(
          node,
          own ->
              withNative(
                  nodes.leaders(),
                  leaders ->
                      handle.run(reducer -> reducer.exchange_between_nodes(all, own, leaders))));
    }
  }

  private static void withNative(
      @Nullable ProcessGroup group, Consumer<@Nullable NativeProcessGroup> body) {
    if (group == null) {
      body.accept(null);
    } else {
      GroupCore.OF_GROUP.of(group).handle().run(body);
    }
  }

  NativeHandle<GradientReducer> handle() {
    return handle;
  }

  void run(String operation, Consumer<GradientReducer> body) {
    call(
        operation,
        reducer -> {
          body.accept(reducer);
          return true;
        });
  }

  <R> R call(String operation, Function<GradientReducer, R> body) {
    if (!GroupSpan.isReductionWanted()) {
      return callUntraced(operation, body);
    }
    Counts before = handle.call(Counts::of);
    GroupSpan span = GroupSpan.beginReduction(log, operation, before.reductions - base);
    R result;
    try {
      result = callUntraced(operation, body);
    } catch (RuntimeException | Error e) {
      span.fail(e, 0, e instanceof PeerLostException);
      throw e;
    }
    if (handle.isClosed()) {
      span.end(0);
    } else {
      handle.run(own -> end(span, before, own));
    }
    return result;
  }

  private static void end(GroupSpan span, Counts before, GradientReducer reducer) {
    Counts now = Counts.of(reducer);
    span.endReduction(
        now.reductions > before.reductions,
        sentBytesSince(before.reductions, reducer),
        now.waited - before.waited,
        now.communicated - before.communicated);
  }

  /** The sums of a reducer: reductions, and nanoseconds. */
  private record Counts(long reductions, long waited, long communicated) {
    static Counts of(GradientReducer reducer) {
      return new Counts(
          reducer.reductions(), reducer.reduction_nanos(), reducer.communication_nanos());
    }
  }

  /** Returns the bytes that the latest reduction has sent, or 0 if there is none since. */
  private static long sentBytesSince(long reductions, GradientReducer reducer) {
    long sent = 0;
    for (long i = 0; i < reducer.bucket_count() && reducer.reductions() > reductions; i++) {
      sent += reducer.bucket_sent_bytes(i);
    }
    return sent;
  }

  private <R> R callUntraced(String operation, Function<GradientReducer, R> body) {
    return group.interruptibly(operation, () -> handle.call(body));
  }

  /** Begins a scope in which backward passes accumulate gradients; returns its end, idempotent. */
  Runnable noSync() {
    boolean outer = handle.call(GradientReducer::is_synchronized);
    handle.run(own -> own.set_synchronized(false));
    AtomicBoolean open = new AtomicBoolean(true);
    return () -> {
      if (open.getAndSet(false) && !handle.isClosed()) {
        handle.run(own -> own.set_synchronized(outer));
      }
    };
  }

  void backward(Tensor loss) {
    requireNonNull(loss, "loss");
    run("backward", own -> own.backward(loss));
  }

  void backward(Tensor loss, double weight) {
    requireNonNull(loss, "loss");
    run("backward", own -> own.backward(loss, weight));
  }

  /** Returns the SHA-256 of the parameters, in hexadecimal. */
  String digest() {
    return HexFormat.of().formatHex(ReplicaDigest.of(handle));
  }

  /** See {@link ReplicatedModel#verifyReplicas}. */
  String verifyReplicas(ProcessGroup ranks) {
    handle.run(GradientReducer::check_usable); // the others may still be in that pass
    byte[] mine = ReplicaDigest.of(handle);
    ReplicaDigest.requireEqual(mine, ranks);
    return HexFormat.of().formatHex(mine);
  }

  void endUnevenInputs() {
    if (!handle.isClosed()) {
      handle.run(GradientReducer::end_uneven_inputs);
    }
  }

  /** See {@link DistributedDataParallel#stateDict}. */
  StateDict stateDict() {
    try (PointerScope scope = new PointerScope()) {
      ReducerState state = call("stateDict", GradientReducer::state);
      List<String> names = lines(state.names());
      Map<String, Tensor> tensors = ModuleTensors.bufferStates(module, options.ignored());
      for (int i = 0; i < names.size(); i++) {
        tensors.put(EXCHANGE + names.get(i), state.tensors().get(i));
      }
      String json =
          DistributedStateJson.write(
              KIND,
              layout(),
              out -> {
                DistributedStateJson.writeTexts(out, "buckets", lines(state.buckets()));
                DistributedStateJson.writeTexts(out, "uses", lines(state.uses()));
                out.writeNumberField("exchangeSteps", state.exchange_steps());
                DistributedStateJson.writeTexts(
                    out, "exchangeRandom", lines(state.exchange_random()));
              });
      return StateDict.of(json, tensors);
    }
  }

  /** Returns the lines of a native string, which is null if it is empty. */
  private static List<String> lines(@Nullable BytePointer text) {
    return text == null ? List.of() : text.getString().lines().toList();
  }

  /** Returns the properties that must be the same when a state is restored. */
  private List<String> layout() {
    try (BytePointer lines = handle.call(GradientReducer::layout)) {
      return DistributedStateJson.withRank(group.part(), lines.getString().lines().toList());
    }
  }

  /** See {@link DistributedDataParallel#loadStateDict}. */
  void loadStateDict(StateDict state) {
    JsonObject json =
        DistributedStateJson.read(
            state, KIND, layout(), "buckets", "uses", "exchangeSteps", "exchangeRandom");
    try (PointerScope scope = new PointerScope()) {
      Map<String, Tensor> exchanged = new LinkedHashMap<>();
      Map<String, Tensor> buffers = new LinkedHashMap<>();
      state
          .tensors()
          .forEach(
              (name, tensor) ->
                  (name.startsWith(EXCHANGE) ? exchanged : buffers).put(name, tensor));
      List<String> names =
          exchanged.keySet().stream().map(name -> name.substring(EXCHANGE.length())).toList();
      StateDict kept = StateDict.of("", buffers);
      try (kept) {
        Map<String, Tensor> targets = ModuleTensors.bufferStates(module, options.ignored());
        kept.requireFit(targets);
        handle.run(
            reducer ->
                reducer.restore(
                    new ReducerState()
                        .buckets(new BytePointer(ModuleTensors.lines(json.texts("buckets"))))
                        .uses(new BytePointer(String.join("", json.texts("uses"))))
                        .exchange_steps(json.number("exchangeSteps"))
                        .exchange_random(
                            new BytePointer(String.join("", json.texts("exchangeRandom"))))
                        .names(new BytePointer(ModuleTensors.lines(names)))
                        .tensors(new TensorVector(exchanged.values().toArray(Tensor[]::new)))));
        kept.copyTo(targets);
      }
    }
  }
}
