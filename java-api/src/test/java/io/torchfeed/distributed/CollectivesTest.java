// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of the way into native code and back; {@code native/test/collectives_test.cc} has the
 * values of all dtypes and shapes.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CollectivesTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void reductionsAreThoseOfAllRanks(int ranks) throws Exception {
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            long sum = ranks * (ranks + 1L) / 2;
            Tensor tensor = longs(group.rank() + 1, 7);
            group.allReduce(tensor, ReduceOp.SUM);
            expect(tensor, sum, 7L * ranks);
            Tensor bits = longs(1L << group.rank(), 3);
            group.allReduce(bits, ReduceOp.BOR);
            expect(bits, (1L << ranks) - 1, 3);
            group.allReduce(bits, ReduceOp.BXOR);
            expect(bits, ranks % 2 == 0 ? 0 : (1L << ranks) - 1, ranks % 2 == 0 ? 0 : 3);
            Tensor rooted = longs(group.rank() + 1);
            group.reduce(rooted, ReduceOp.SUM, ranks - 1);
            expect(rooted, group.rank() == ranks - 1 ? sum : group.rank() + 1);
            Tensor[] some = {longs(1, 2), longs(3)};
            group.allReduceCoalesced(some, ReduceOp.SUM);
            expect(some[0], ranks, 2L * ranks);
            expect(some[1], 3L * ranks);
            Tensor part = longs(0);
            group.reduceScatterTensor(part, range(ranks), ReduceOp.SUM);
            expect(part, (long) ranks * group.rank());
            Tensor[] parts = {longs(0), longs(0)};
            group.reduceScatterCoalesced(
                parts, new Tensor[] {range(ranks), range(ranks)}, ReduceOp.MAX);
            expect(parts[1], group.rank());
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void valuesReachTheRanksForWhichTheyAreMeant(int ranks) throws Exception {
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            int rank = group.rank();
            int last = ranks - 1;
            Tensor[][] all = group.allGatherCoalesced(new Tensor[] {longs(rank), longs(5, rank)});
            expect(all[1][last], 5, last);
            Tensor into = range(ranks);
            group.allGatherIntoTensor(into, longs(10L + rank));
            assertThat(values(into)).isEqualTo(LongStream.range(10, 10 + ranks).toArray());
            Tensor[] gathered = group.gather(longs(rank), last);
            assertThat(gathered).hasSize(rank == last ? ranks : 0);
            Tensor scattered = longs(0);
            Tensor[] inputs =
                rank == 0
                    ? IntStream.range(0, ranks)
                        .mapToObj(i -> longs(100L + i))
                        .toArray(Tensor[]::new)
                    : new Tensor[0];
            group.scatter(scattered, inputs, 0);
            expect(scattered, 100L + rank);
            Tensor received = range(ranks);
            group.allToAllSingle(received, range(ranks));
            assertThat(values(received)).containsOnly(rank);
            long[] one = LongStream.generate(() -> 1).limit(ranks).toArray();
            group.allToAllSingle(received, range(ranks).add(longs(rank)), one, one);
            assertThat(values(received)).isEqualTo(LongStream.range(rank, rank + ranks).toArray());
            Tensor[] outputs =
                IntStream.range(0, ranks).mapToObj(i -> longs(0)).toArray(Tensor[]::new);
            Tensor[] sent =
                IntStream.range(0, ranks).mapToObj(i -> longs(i)).toArray(Tensor[]::new);
            group.allToAll(outputs, sent);
            expect(outputs[last], rank);
          }
        });
  }

  @Test
  void bytesAndStringsMayDifferInLength() throws Exception {
    RankThreads.run(
        3,
        group -> {
          int rank = group.rank();
          byte[][] all = group.allGatherBytes(new byte[] {1, -2, 3}.clone());
          assertThat(all).isDeepEqualTo(new byte[][] {{1, -2, 3}, {1, -2, 3}, {1, -2, 3}});
          assertThat(group.allGatherBytes(new byte[rank])[2]).hasSize(2);
          assertThat(group.allGatherBytes(new byte[0])).isDeepEqualTo(new byte[3][0]);
          assertThat(group.broadcastBytes(new byte[] {(byte) rank}, 1)).containsExactly(1);
          assertThat(group.broadcastString("naïve " + rank, 2)).isEqualTo("naïve 2");
          assertThat(group.allGatherStrings("ü".repeat(rank))).containsExactly("", "ü", "üü");
          assertThatIllegalArgumentException()
              .isThrownBy(() -> group.allGatherStrings("\ude00"))
              .withMessage("mine must not have half of a surrogate pair, got one at index 0");
          assertThatIllegalArgumentException()
              .isThrownBy(() -> group.broadcastString("ab\ud83d-", 0))
              .withMessage("mine must not have half of a surrogate pair, got one at index 2");
        });
  }

  @Test
  void messagesGoToOneRank() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            int peer = 1 - group.rank();
            Tensor got = longs(0, 0);
            Work<Void> receiving = group.async().recv(got, peer, 3);
            assertThat(receiving.await(Duration.ofMillis(20))).isFalse();
            group.barrier();
            group.send(longs(group.rank(), 9), peer, 3);
            receiving.await();
            expect(got, peer, 9);
            assertThatIllegalArgumentException()
                .isThrownBy(() -> group.send(got, peer, 1 << 27))
                .withMessage("tag must be in [0, 134217728), got 134217728");
          }
        });
  }

  @Test
  void startedOperationsRunInTheirOrderAndMayBeAwaitedByAnyThread() throws Exception {
    RankThreads.run(
        2,
        group -> {
          AsyncCollectives calls = group.async();
          List<Work<?>> works = new ArrayList<>();
          Work<Tensor[]> gathered;
          try (PointerScope scope = new PointerScope()) {
            Tensor tensor = longs(1);
            for (int i = 0; i < 10; i++) {
              works.add(calls.allReduce(tensor, ReduceOp.SUM));
            }
            gathered = calls.allGather(tensor);
          } // closes the tensors, but not their memory
          Thread other = new Thread(() -> works.forEach(Work::await));
          other.start();
          works.forEach(Work::await);
          other.join();
          Tensor[] all = gathered.await();
          assertThat(gathered.isDone()).isTrue();
          assertThat(gathered.await()).isSameAs(all);
          for (Tensor each : all) {
            expect(each, 1024);
            each.close();
          }
          Work<byte[][]> bytes = group.unchecked().async().allGatherBytes(new byte[group.rank()]);
          assertThat(bytes.await()[1]).hasSize(1);
          assertThat(bytes.await(Duration.ZERO)).isTrue();
        });
  }

  @Test
  void differentArgumentsAreRefusedWhereTheyAreAwaited() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Tensor tensor = range(2 + group.rank());
            Work<Void> work = group.async().broadcast(tensor, 0);
            String text = "all ranks must make the same call: rank 0 calls broadcast from rank 0";
            for (int i = 0; i < 2; i++) {
              assertThatIllegalArgumentException()
                  .isThrownBy(work::await)
                  .withMessageContaining(text);
            }
            assertThat(work.isDone()).isTrue();
            assertThatIllegalArgumentException()
                .isThrownBy(() -> group.allToAllSingle(tensor, tensor, new long[1], new long[2]))
                .withMessage("splits must hold one number for each of 2 ranks, got 1");
            group.barrier();
          }
        });
  }

  @Test
  void tensorsThatCannotBeWrittenAreRefusedBeforeTheExchange() throws Exception {
    for (long size : new long[] {5, 50_000}) { // carried with the checks, and not
      RankThreads.run(
          2,
          group -> {
            try (PointerScope scope = new PointerScope()) {
              boolean isExpanded = group.rank() == 1;
              String reason =
                  isExpanded
                      ? "must have memory for each element, got one of shape [%d] with strides [0]"
                          .formatted(size)
                      : "rank 1 rejected its own arguments";
              Tensor tensor = isExpanded ? longs(1).expand(size) : longs(2).repeat(size);
              assertThatIllegalArgumentException()
                  .isThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                  .withMessageContaining(reason);
              assertThatIllegalArgumentException()
                  .isThrownBy(() -> group.broadcast(tensor, 0))
                  .withMessageContaining(reason);
              expect(tensor.narrow(0, 0, 1), isExpanded ? 1 : 2);
              group.broadcast(tensor, 1); // the root only reads it
              expect(tensor.narrow(0, size - 1, 1), 1);
            }
          });
    }
  }

  @Test
  void withoutChecksTheSameCallsWork() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Collectives calls = group.unchecked();
            Tensor tensor = longs(1);
            calls.allReduce(tensor, ReduceOp.SUM);
            calls.barrier();
            expect(tensor, 2);
            byte[] text = "text".getBytes(StandardCharsets.UTF_8);
            assertThat(calls.allToAll(new byte[][] {text, text}))
                .isDeepEqualTo(new byte[][] {text, text});
          }
        });
  }

  private static Tensor longs(long... values) {
    return Tensor.create(values, values.length);
  }

  private static Tensor range(int size) {
    return longs(LongStream.range(0, size).toArray());
  }

  private static long[] values(Tensor tensor) {
    long[] values = new long[Math.toIntExact(tensor.numel())];
    new LongPointer(tensor.data_ptr()).get(values);
    return values;
  }

  private static void expect(Tensor tensor, long... values) {
    assertThat(values(tensor)).as(Arrays.toString(values)).isEqualTo(values);
  }
}
