// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.distributed.averaging.FlatTensors;
import io.torchfeed.distributed.averaging.Meeting;
import io.torchfeed.distributed.averaging.WeightExchange;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.JsonObject;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Training in which the ranks exchange weights instead of averaging each gradient, so that they
 * send less, wait less for each other, or both. Weights then differ between the ranks: {@link
 * #average} before an evaluation or a checkpoint.
 *
 * <pre>{@code
 * try (ModelAveraging model = ModelAveraging.wrap(net, group, AveragingAlgorithm.lowPrecision())) {
 *   for (Batch batch : batches) {
 *     model.step(() -> loss(batch).backward(), optimizer::step);
 *   }
 *   model.average();
 * }
 * }</pre>
 *
 * <p>Every rank must run the same number of steps, except with {@link
 * AveragingAlgorithm#asynchronous}. The module must keep its parameters: load a checkpoint and
 * choose dtypes before; {@link #loadStateDict} then gives each rank its own weights. The algorithms
 * use the group's messages with tags 0 and 1. A {@link DistributedDataParallel} on the same group
 * must not run inside a step. Buffers, for example running statistics, remain each rank's own. An
 * exception in a step leaves the object unusable; the module is not affected. Not thread-safe: one
 * thread at a time.
 *
 * <p>Source: the algorithms of Bagua, and PyTorch's post-local SGD.
 */
public final class ModelAveraging implements ReplicatedModel {
  private static final String KIND = "ModelAveraging";

  private final Module module;
  private final AveragingAlgorithm algorithm;
  private final Tensor[] parameters;
  private final Tensor[] weights;
  private final FlatTensors flat;
  private ProcessGroup group;
  private WeightExchange exchange;
  private long step;
  private boolean isInStep;
  private @Nullable Throwable failure;
  private boolean isClosed;

  private ModelAveraging(
      ProcessGroup group,
      Module module,
      AveragingAlgorithm algorithm,
      Tensor[] parameters,
      Tensor[] weights,
      FlatTensors flat,
      Meeting meeting) {
    this.module = module;
    this.algorithm = algorithm;
    this.parameters = parameters;
    this.weights = weights;
    this.flat = flat;
    this.group = group;
    meeting.share(group, flat, false);
    this.exchange = algorithm.start(group, parameters, flat);
    this.step = meeting.steps();
    exchange.resume(meeting.exchanges());
  }

  /**
   * Starts the training of a module. Checks that algorithm and parameters are the same on all
   * ranks, then copies rank 0's to the others. Every rank must call it.
   *
   * @param module the module to train, on the CPU, with dense gradients; borrowed. Only parameters
   *     that require a gradient are exchanged
   * @param group the ranks; borrowed, and must be closed after this object
   * @param algorithm the same on all ranks
   * @return the training; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, their dtypes differ, the
   *     algorithm does not support the dtype or the number of ranks, or ranks differ
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if the group is closed or aborted
   */
  public static ModelAveraging wrap(
      Module module, ProcessGroup group, AveragingAlgorithm algorithm) {
    Objects.requireNonNull(algorithm, "algorithm");
    try (PointerScope scope = new PointerScope()) {
      Tensor[] parameters = ModuleTensors.trained(Objects.requireNonNull(module, "module"));
      Tensor[] weights = Stream.of(parameters).map(Tensor::detach).toArray(Tensor[]::new);
      algorithm.check(Objects.requireNonNull(group, "group").size(), weights);
      Meeting meeting = Meeting.of(group, ModuleTensors.describe(algorithm, weights), "");
      FlatTensors flat = new FlatTensors(weights);
      try {
        ModelAveraging averaging =
            new ModelAveraging(group, module, algorithm, parameters, weights, flat, meeting);
        Stream.of(parameters, weights).flatMap(Stream::of).forEach(Tensor::retainReference);
        return averaging;
      } catch (RuntimeException | Error e) {
        flat.close();
        throw e;
      }
    }
  }

  /**
   * Continues in another group, of the ranks that are left and those that join: those that have
   * trained call this method, those that join start with {@link #wrap} and the same algorithm. All
   * get the mean of the weights of the ranks that have trained, and the steps and exchanges of the
   * lowest of these; then training continues as if started with them. Buffers remain each rank's
   * own.
   *
   * <p>The group before may be closed, aborted or without ranks that are lost; if it is not, all
   * its ranks must leave it. After a step that failed, this object is usable again. If this method
   * fails once the ranks have met, it is unusable until it is rebound.
   *
   * @param group the ranks from now on; borrowed, and must be closed after this object
   * @throws IllegalArgumentException if the algorithm does not support the number of ranks, or
   *     ranks differ
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a step is in progress, or this object or the new group is
   *     closed or aborted
   */
  @Override
  public void rebind(ProcessGroup group) {
    Objects.requireNonNull(group, "group");
    requireBetweenSteps("a group is changed");
    requireNotClosed();
    algorithm.check(group.size(), weights);
    Meeting meeting =
        Meeting.of(
            group,
            ModuleTensors.describe(algorithm, weights),
            Meeting.progress(step, exchange.exchanges()));
    try {
      exchange.close();
      meeting.share(group, flat, true);
      exchange = algorithm.start(group, parameters, flat);
    } catch (RuntimeException | Error e) {
      failure = e;
      throw e;
    }
    exchange.resume(meeting.exchanges());
    this.group = group;
    step = meeting.steps();
    isInStep = false;
    failure = null;
  }

  /**
   * Continues as after a number of steps, which a checkpoint for any number of ranks remembers: the
   * intervals and the warm-up of the algorithm count from there. Every rank must call it, with the
   * same numbers, before the first step.
   *
   * @param steps the steps of each rank so far, at least 0
   * @param exchanges as {@link #exchanges} returned then, at least 0
   * @throws IllegalArgumentException if a number is negative
   * @throws IllegalStateException if a step has been run, or this object is closed
   */
  public void continueAfter(long steps, long exchanges) {
    requireNotClosed();
    DistributedStateJson.requireFresh(step);
    step = Checks.requireAtLeastZero("steps", steps);
    exchange.resume(Checks.requireAtLeastZero("exchanges", exchanges));
  }

  /** Returns the lines that a state to be restored must have. */
  private List<String> layout() {
    List<String> lines = new ArrayList<>(List.of(algorithm.toString()));
    Stream.of(weights).map(ModuleTensors::describe).forEach(lines::add);
    return DistributedStateJson.withRank(group.part(), lines);
  }

  /**
   * Runs a training step, with the exchange that belongs to it.
   *
   * @param pass computes the gradients: clears them, and runs a forward and a backward pass
   * @param update changes the weights, usually {@code optimizer::step}
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if an earlier step failed, or this object or the group is closed;
   *     exceptions of {@code pass} and {@code update} are thrown unchanged
   */
  public void step(Runnable pass, Runnable update) {
    Objects.requireNonNull(pass, "pass");
    Objects.requireNonNull(update, "update");
    guard(
        () -> {
          isInStep = true;
          exchange.step(step++, pass, update);
          isInStep = false;
        });
  }

  @Override
  public void step(Supplier<Tensor> loss, Runnable update) {
    Objects.requireNonNull(loss, "loss");
    step(() -> Losses.backward(loss), update);
  }

  @Override
  public void step(Supplier<Tensor> loss, double weight, Runnable update) {
    throw Losses.withoutWeights(loss, update);
  }

  @Override
  public void accumulate(Supplier<Tensor> loss, double weight) {
    throw Losses.withoutWeights(loss, () -> {});
  }

  /** Clips the gradients of this rank alone: the ranks' norms differ. */
  @Override
  public double clipGradNorm(double maxNorm) {
    return Losses.clip(module, maxNorm);
  }

  @Override
  public void accumulate(Supplier<Tensor> loss) {
    Objects.requireNonNull(loss, "loss");
    guard(() -> exchange.accumulate(() -> Losses.backward(loss)));
  }

  @Override
  public void stepAccumulated(Runnable update) {
    step(() -> {}, update);
  }

  @Override
  public Module module() {
    return module;
  }

  /**
   * Replaces the weights of every rank by their average over all ranks, so that they are equal bit
   * for bit. Ends asynchronous averaging until the next step. Every rank must call it.
   *
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if an earlier step failed, or this object or the group is closed
   */
  @Override
  public void average() {
    guard(
        () -> {
          exchange.pause();
          flat.load();
          group.allReduce(flat.values(), ReduceOp.MEAN);
          flat.store();
          exchange.restart();
        });
  }

  @Override
  public String verifyReplicas() {
    byte[][] digest = new byte[1][];
    guard(
        () -> {
          exchange.pause();
          flat.load();
          digest[0] = flat.digest();
        });
    ReplicaDigest.requireEqual(digest[0], group);
    return HexFormat.of().formatHex(digest[0]);
  }

  /**
   * Returns this rank's state, beside the optimizer, to continue as if the training had not been
   * stopped: its weights and buffers, which differ from other ranks'; how many steps and exchanges
   * there were; and with {@link AveragingAlgorithm#lowPrecision}, the copies that it and its
   * neighbours know. Every rank must call it, and store its own state.
   *
   * <p>With {@link AveragingAlgorithm#asynchronous}, averaging ends until the next step, and the
   * state holds the weights after it. Later steps depend on time, whether the training is stopped
   * or not, so that no two runs are equal.
   *
   * @return the state; the caller closes it
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a step is in progress, an earlier one failed, or this object
   *     or the group is closed
   */
  @Override
  public StateDict stateDict() {
    requireBetweenSteps("a state is taken and restored");
    guard(exchange::pause);
    flat.load();
    try (PointerScope scope = new PointerScope()) {
      String json =
          DistributedStateJson.write(
              KIND,
              layout(),
              out -> {
                out.writeNumberField("steps", step);
                out.writeNumberField("exchanges", exchange.exchanges());
              });
      return StateDict.of(json, states());
    }
  }

  /** Returns the content of a state, in the memory where it is kept; owned by the pointer scope. */
  private Map<String, Tensor> states() {
    Map<String, Tensor> states = ModuleTensors.bufferStates(module, Set.of());
    states.put("weights", flat.values());
    states.putAll(exchange.kept());
    return states;
  }

  private void requireBetweenSteps(String what) {
    if (isInStep && failure == null) {
      throw new IllegalStateException(what + " between steps, not in one");
    }
  }

  private void requireNotClosed() {
    if (isClosed) {
      throw new IllegalStateException("ModelAveraging is closed");
    }
  }

  /**
   * Continues from a state of the same rank, before the first step. Every rank must do it. The
   * weights become the state's; the number of ranks, the parameters and the algorithm must be the
   * state's.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if the state is of another rank, number of ranks, model or
   *     algorithm, or malformed; the message names the first difference
   * @throws IllegalStateException if a step has been run, or this object is closed
   */
  @Override
  public void loadStateDict(StateDict state) {
    requireBetweenSteps("a state is taken and restored");
    requireNotClosed();
    DistributedStateJson.requireFresh(step);
    JsonObject json = DistributedStateJson.read(state, KIND, layout(), "steps", "exchanges");
    long steps = Checks.requireAtLeastZero("steps", json.number("steps"));
    long exchanges = Checks.requireAtLeastZero("exchanges", json.number("exchanges"));
    try (PointerScope scope = new PointerScope()) {
      state.copyTo(states());
    }
    flat.store();
    step = steps;
    exchange.resume(exchanges);
  }

  private void guard(Runnable body) {
    requireNotClosed();
    if (failure != null) {
      throw new IllegalStateException("an earlier step failed: " + failure, failure);
    }
    try {
      body.run();
    } catch (Throwable e) {
      failure = e;
      exchange.abandon();
      throw e;
    }
  }

  /**
   * Returns the number of exchanges of weights so far, without {@link #average}'s.
   *
   * @return at least 0
   */
  public long exchanges() {
    return exchange.exchanges();
  }

  /**
   * Ends the exchange on this rank; no effect the second time. After steps of {@link
   * AveragingAlgorithm#asynchronous}, call {@link #average} first, since the other ranks' averaging
   * would fail otherwise.
   */
  @Override
  public void close() {
    if (!isClosed) {
      isClosed = true;
      exchange.close();
      flat.close();
      Stream.of(parameters, weights).flatMap(Stream::of).forEach(Tensor::close);
    }
  }
}
