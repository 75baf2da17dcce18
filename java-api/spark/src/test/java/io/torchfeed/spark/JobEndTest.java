// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.job.SparkRanks;
import java.io.NotSerializableException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.sql.SparkSession;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Ends of a job that neither the task nor Spark has foreseen. */
class JobEndTest {
  private static AbstractThrowableAssert<?, ? extends Throwable> end(
      Problem problem, ThrowingCallable call) {
    return assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(problem));
  }

  private static SparkRanks ranks() {
    return LineTask.ranks(TestSpark.points(TestSpark.local(), 20, 2));
  }

  /** Trains with ranks that wait, and acts when both have begun. */
  private static void trainUntil(Runnable event) throws InterruptedException {
    Waiting.ranks = new CountDownLatch(2);
    Thread actor =
        new Thread(
            () -> {
              try {
                Waiting.ranks.await();
                event.run();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    actor.start();
    try {
      ranks()
          .train(
              (context, rows) -> {
                Waiting.ranks.countDown();
                while (true) {
                  context.group().barrier();
                }
              });
    } finally {
      Thread.interrupted(); // else the wait below would end at once
      actor.join();
    }
  }

  /** The memory that ranks in this JVM share with the test. */
  private static final class Waiting {
    static CountDownLatch ranks = new CountDownLatch(0);

    private Waiting() {}
  }

  @Test
  void anInterruptOfTheDriversThreadCancelsTheJob() {
    Thread driver = Thread.currentThread();

    end(Problem.CANCELED, () -> trainUntil(driver::interrupt)).hasMessageContaining("interrupted");

    assertThat(ranks().train((context, rows) -> context.rank())).containsExactly(0, 1);
  }

  @Test
  void aStoppedSparkCancelsTheJobAndANewOneTrains() {
    SparkSession spark = TestSpark.local();

    end(Problem.CANCELED, () -> trainUntil(spark::stop)).hasMessageContaining("shut down");

    assertThat(ranks().train((context, rows) -> context.rank())).containsExactly(0, 1);
  }

  @Test
  void aResultThatIsNotSerializableIsNamed() {
    end(
            Problem.FAILED,
            () -> ranks().train((context, rows) -> new ArrayList<>(List.of(new Object()))))
        .hasMessageContaining("result of the task must be serializable")
        .hasMessageContaining("java.lang.Object")
        .hasRootCauseInstanceOf(NotSerializableException.class);
  }

  @Test
  void anErrorOfTheConsumerOfProgressIsTheCause() {
    end(
            Problem.FAILED,
            () ->
                ranks()
                    .onProgress(
                        progress -> {
                          throw new AssertionError("loss");
                        })
                    .train(
                        (context, rows) -> {
                          context.report(0, Map.of());
                          while (true) {
                            context.group().barrier();
                          }
                        }))
        .hasMessageContaining("consumer of progress failed")
        .hasRootCauseMessage("loss");
  }

  @Test
  void aBatchThatNoBufferHoldsIsRefusedByTheDriver() {
    RankModel model =
        RankModel.of(
            new byte[0],
            bytes -> {
              throw new IllegalStateException("not to be called");
            },
            RowColumn.of("p", DType.FLOAT32),
            RowColumn.of("x", DType.FLOAT32, 1 << 21));

    end(
            Problem.SCHEMA,
            () -> SparkRanks.transform(TestSpark.points(TestSpark.local(), 2, 1), model))
        .hasMessageContaining("256 rows of 8388608 bytes")
        .hasMessageContaining("withBatchSize");
  }
}
