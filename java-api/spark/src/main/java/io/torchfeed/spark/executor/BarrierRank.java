// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.spark.RankCheckpoints;
import io.torchfeed.spark.RankContext;
import io.torchfeed.spark.RankRows;
import io.torchfeed.spark.RankTask;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.checkpoint.HadoopCheckpoints;
import io.torchfeed.spark.link.RankLink;
import io.torchfeed.spark.link.SerializedValue;
import io.torchfeed.spark.rows.RowSpool;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.resource.ResourceInformation;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * A task of the barrier stage: it is one rank.
 *
 * @param <R> the result of a rank
 */
public final class BarrierRank<R extends Serializable>
    extends AbstractFunction1<
        scala.collection.Iterator<InternalRow>, scala.collection.Iterator<Tuple2<Integer, byte[]>>>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  private final JobSettings settings;
  private final RankTask<R> work;

  public BarrierRank(JobSettings settings, RankTask<R> work) {
    this.settings = settings;
    this.work = work;
  }

  @Override
  public scala.collection.Iterator<Tuple2<Integer, byte[]>> apply(
      scala.collection.Iterator<InternalRow> rows) {
    BarrierTaskContext task = BarrierTaskContext.get();
    int rank = task.partitionId();
    String[] executors =
        Arrays.stream(task.getTaskInfos()).map(info -> info.address()).toArray(String[]::new);
    try (RankLink link =
        RankLink.connect(settings.driver(), rank, task.stageAttemptNumber(), executors[rank])) {
      byte[] result = new Attempt(task, executors, link).run(new PartitionRows(rows));
      return CollectionConverters.asScala(List.of(new Tuple2<>(rank, result)).iterator());
    }
  }

  /** The rows of the partition; knows whether Spark failed to read them. */
  private static final class PartitionRows implements Iterator<InternalRow> {
    private final scala.collection.Iterator<InternalRow> rows;
    private boolean hasFailed;

    PartitionRows(scala.collection.Iterator<InternalRow> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      hasFailed = true;
      boolean has = rows.hasNext();
      hasFailed = false;
      return has;
    }

    @Override
    public InternalRow next() {
      hasFailed = true;
      InternalRow row = rows.next();
      hasFailed = false;
      return row;
    }
  }

  /** One run of the task. */
  private final class Attempt {
    private final BarrierTaskContext task;
    private final String[] executors;
    private final RankLink link;
    private boolean isReported;

    Attempt(BarrierTaskContext task, String[] executors, RankLink link) {
      this.task = task;
      this.executors = executors;
      this.link = link;
    }

    byte[] run(PartitionRows partition) {
      try {
        NativeLibraries.load();
        try (RankRows rows = spool(partition);
            ProcessGroup group = join()) {
          return train(rows, group);
        }
      } catch (Throwable e) { // an Error, too: a stage that is repeated would fail again
        if (!partition.hasFailed) {
          report(e);
        }
        throw e;
      }
    }

    private RankRows spool(PartitionRows partition) {
      Path folder =
          Path.of(SparkEnv.get().blockManager().diskBlockManager().localDirs()[0].getPath());
      RankRows rows;
      try {
        rows =
            RowSpool.write(
                partition,
                settings.encoder(),
                settings.order(),
                folder,
                task::killTaskIfInterrupted);
      } catch (IOException e) {
        throw new UncheckedIOException("the rows cannot be stored in " + folder, e);
      }
      String objection = link.rows(rows.size(), rows.digest());
      if (!objection.isEmpty()) {
        rows.close();
        throw new SparkRanksException(Problem.ROWS_DIFFER, objection);
      }
      return rows;
    }

    /**
     * Meets the others: a single call of Spark's, which takes a second, tells them where rank 0
     * listens. A rank alone needs none.
     */
    private ProcessGroup join() {
      int rank = task.partitionId();
      String host = hostOf(executors[0]);
      GroupOptions options =
          GroupOptions.ofTimeout(settings.timeout())
              .withName("spark-" + task.stageId() + "." + task.stageAttemptNumber());
      String device = device();
      if (!device.equals("cpu")) {
        options = options.withDevice(device);
      }
      try (Master own = rank == 0 ? Master.listen(host) : null) {
        String port = own == null ? "" : Integer.toString(own.port());
        if (executors.length > 1) {
          port = task.allGather(port)[0];
        }
        Master master = own == null ? Master.at(host, Integer.parseInt(port)) : own;
        return ProcessGroup.join(master, new Part(executors.length, rank), options);
      }
    }

    private byte[] train(RankRows rows, ProcessGroup group) {
      try (KillWatch watch = KillWatch.start(task, group)) {
        RankContext context =
            new BarrierContext(
                group, link, task.stageAttemptNumber(), device(), checkpoints(rows, group));
        try {
          return serialized(work.train(context, rows));
        } catch (Throwable e) {
          report(e); // before the others notice, so that the first failure is the one to be named
          group.abort();
          if (e instanceof Error error) {
            throw error;
          }
          throw e instanceof RuntimeException known ? known : new RankFailure(e);
        }
      }
    }

    private static byte[] serialized(Serializable result) {
      try {
        return SerializedValue.of(result);
      } catch (IOException e) {
        throw new IllegalArgumentException(
            ("the result of the task must be serializable with all of its variables, got %s;"
                    + " return the bytes of tensors and modules")
                .formatted(e),
            e);
      }
    }

    private @Nullable RankCheckpoints checkpoints(RankRows rows, ProcessGroup group) {
      String path = settings.checkpoints();
      return path == null
          ? null
          : new HadoopCheckpoints(
              path,
              settings.kept(),
              settings.keptBest(),
              settings.hadoop().value(),
              group,
              settings.job(),
              task.stageAttemptNumber(),
              rows.digest());
    }

    private String device() {
      ResourceInformation gpu = task.resourcesJMap().get("gpu");
      return gpu == null ? "cpu" : "cuda:" + gpu.addresses()[0];
    }

    /** Tells the driver of a failure that is this rank's own, and no consequence of a loss. */
    private void report(Throwable failure) {
      if (isReported || task.isInterrupted() || task.fetchFailed().isDefined() || isLoss(failure)) {
        return;
      }
      isReported = true;
      Throwable named =
          failure instanceof RankFailure wrapped ? requireNonNull(wrapped.getCause()) : failure;
      try {
        link.failure(SerializedValue.ofFailure(named));
      } catch (SparkRanksException e) {
        failure.addSuppressed(e); // the task fails with it, which Spark notices
      }
    }

    private static boolean isLoss(Throwable failure) {
      for (Throwable e = failure; e != null; e = e.getCause()) {
        if (e instanceof PeerLostException) {
          return true;
        }
      }
      return false;
    }
  }

  /** A checked exception of the user's function. */
  private static final class RankFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RankFailure(Throwable cause) {
      super(cause);
    }
  }

  /** Returns the host in {@code host:port} or {@code [v6]:port}. */
  static String hostOf(String address) {
    int colon = address.lastIndexOf(':');
    String host = colon < 0 ? address : address.substring(0, colon);
    return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }
}
