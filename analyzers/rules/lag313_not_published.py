"""LAG313: a connector captures a table that is in no publication of PostgreSQL which it reads: no change of it ever arrives."""

from analyzers.vocabulary import ANY, CRITICAL, DataFrame, F, Window, count, detail, event, found, rule
from analyzers.vocabulary.aggregates import listed

_PLAIN = r"^\w+\.\w+$"
"""Schema and table without a sign of an expression: what a list of expressions means is not known."""


@rule(
    "LAG313", title="A captured table is not in the publication", cause="no-progress", reason="not-published", stage="lag",
    severity=CRITICAL, logs_of=ANY, signatures=("captured-tables", "publication-set"),
    says="{named} {is_are} in table.include.list of the connector and not in publication {publication}, which has {published} table(s): "
    "PostgreSQL sends no change of it, and nothing is logged. A snapshot reads it all the same",
    inferred="The publication was made for the tables of that day; a table that is added to the connector's list is not added to it "
    "where publication.autocreate.mode is disabled, or the connector's user may not change it.",
    next_command="SELECT * FROM pg_publication_tables WHERE pubname = '{publication}';",
)  # fmt: skip
def not_published(log_events: DataFrame, publication_tables: DataFrame) -> DataFrame:
    """Per log of a connector, by the newest list that it printed: plain names that the listing of its publication lacks."""
    newest = Window.partitionBy("scope", "file").orderBy(F.desc("line"))
    lists = log_events.where(event("captured-tables")).withColumn("_newest", F.row_number().over(newest)).where("_newest = 1")
    named = (
        log_events.where(event("publication-set"))
        .groupBy("scope", "file")
        .agg(F.max_by(detail("publication"), "line").alias("publication"))
    )
    listing = publication_tables.groupBy("scope", "publication").agg(
        F.collect_set("table_name").alias("_published"), count().alias("published")
    )
    wanted = lists.join(named, ["scope", "file"]).join(listing, ["scope", "publication"])
    wanted = wanted.withColumn("table_name", F.explode(F.split(detail("tables"), r"\s*,\s*"))).where(F.rlike("table_name", F.lit(_PLAIN)))
    lacking = wanted.where(~F.array_contains("_published", F.col("table_name")))
    several = F.countDistinct("table_name") > 1
    return found(
        lacking, "file",
        named=listed(F.col("table_name"), apart=", "),
        is_are=F.when(several, "are").otherwise("is"),
        it_is=F.when(several, "they are").otherwise("it is"),
        publication=F.max("publication"),
        published=F.max("published"),
    )  # fmt: skip
