# What the Ruby clients' scripts share: a check prints its name and what it found, as JSON.
require 'json'
require 'bigdecimal'
require 'date'

def plain(v)
  case v
  when Hash then v.map { |k, x| [k.to_s, plain(x)] }.sort.to_h
  when Array then v.map { |x| plain(x) }
  when BigDecimal then v.to_s('F')
  when Time, DateTime then v.to_time.utc.strftime('%F %T.%6N')
  when String then v.dup.force_encoding('UTF-8').valid_encoding? ? v.dup.force_encoding('UTF-8') : v.unpack1('H*')
  when Integer, Float, true, false, nil then v
  else v.to_s
  end
end

def sqlstate(e)
  while e
    return e.result.error_field(PG::Result::PG_DIAG_SQLSTATE) if e.respond_to?(:result) && e.result
    e = e.respond_to?(:wrapped_exception) && e.wrapped_exception || e.cause
  end
end

def check(name)
  found =
    begin
      yield
    rescue StandardError => e
      "error #{e.class} #{sqlstate(e) || e.message}"
    end
  puts "#{name}\t#{JSON.generate(plain(found))}"
end
